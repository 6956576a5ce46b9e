/* The list of versions in the sidebar. The first line of the file, with their names, is written by the builder. */
const menu = document.currentScript.previousElementSibling;
menu.append(...VERSIONS.map((name) => new Option(name, name, false, name === menu.dataset.version)));
menu.onchange = () => (location.href = `${menu.dataset.root}${menu.value}/index.html`);
