/* How the search orders its results (`html_search_scorer`). Guides and pages answer questions; the history of the
   project, its design and its tests mention every word. */
const PLACES = [
  [/^docs\/(guides\/|first-model)/, 14],
  [/^docs\/(design|mutation-testing)/, -10],
  [/^(CHANGELOG|CONTRIBUTING|SECURITY|README|tfkit\/)/, -10],
  [/^(docs|examples|export)\//, 5],
];

var Scorer = {
  score: ([page, title, anchor, description, score]) => {
    const place = PLACES.find(([pattern]) => pattern.test(page));
    // A method's entry follows the page of its class.
    const isMember = anchor && /^#tfkit\./.test(anchor);
    return score + (place ? place[1] : 0) - (isMember ? 5 : 0);
  },
  objNameMatch: 15,
  objPartialMatch: 4,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 20,
  partialTitle: 9,
  term: 5,
  partialTerm: 2,
};
