// Loads a SavedModel with TensorFlow's C library and runs one of its signatures.
//
//   tfkit_client MODEL --list
//   tfkit_client MODEL [--signature NAME] --input x=rows.npy --input words='["yes", "no"]'
//                [--output-dir DIR] [--repeat N]
//
// An input is a .npy file, nested lists as in JSON, or `-` for such lists on standard input. Outputs
// are printed as one JSON object, or written to DIR/NAME.npy. `--repeat` runs N times and prints how
// long a run takes. No Python, no protobuf library: the few messages that matter are read by hand.
//
// A SavedModel is a program: run only those that you trust.
//
// Reference: tensorflow/c/c_api.h, tensorflow/core/protobuf/meta_graph.proto, the NPY format.

#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tensorflow/c/c_api.h"

enum { MAX_RANK = 32, MAX_INPUTS = 64 };

_Noreturn static void fail(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fputs("tfkit_client: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  exit(1);
}

static void *allocate(size_t size) {
  void *memory = calloc(1, size ? size : 1);
  if (memory == NULL) fail("no memory for %zu bytes", size);
  return memory;
}

static void *grown(void *memory, size_t size) {
  memory = realloc(memory, size ? size : 1);
  if (memory == NULL) fail("no memory for %zu bytes", size);
  return memory;
}

// --- Data types --------------------------------------------------------------------------------

typedef struct {
  TF_DataType number;
  const char *name;
  const char *npy;  // how .npy files name it; strings are not written there
  int64_t smallest;
  uint64_t largest;  // of whole numbers; 0 for others
} DataType;

static const DataType DATA_TYPES[] = {
    {TF_FLOAT, "float32", "<f4", 0, 0},
    {TF_DOUBLE, "float64", "<f8", 0, 0},
    {TF_INT8, "int8", "|i1", INT8_MIN, INT8_MAX},
    {TF_INT16, "int16", "<i2", INT16_MIN, INT16_MAX},
    {TF_INT32, "int32", "<i4", INT32_MIN, INT32_MAX},
    {TF_INT64, "int64", "<i8", INT64_MIN, INT64_MAX},
    {TF_UINT8, "uint8", "|u1", 0, UINT8_MAX},
    {TF_UINT16, "uint16", "<u2", 0, UINT16_MAX},
    {TF_UINT32, "uint32", "<u4", 0, UINT32_MAX},
    {TF_UINT64, "uint64", "<u8", 0, UINT64_MAX},
    {TF_BOOL, "bool", "|b1", 0, 0},
    {TF_STRING, "string", NULL, 0, 0},
};

static const DataType *find_data_type(TF_DataType number) {
  for (size_t i = 0; i < sizeof DATA_TYPES / sizeof *DATA_TYPES; i++)
    if (DATA_TYPES[i].number == number) return &DATA_TYPES[i];
  return NULL;
}

static const DataType *data_type(TF_DataType number, const char *what) {
  const DataType *found = find_data_type(number);
  if (found == NULL) fail("'%s' has a dtype that this client does not know: TF_DataType %d", what,
                          (int)number);
  return found;
}

// --- Signatures, read from the bytes of a MetaGraphDef -----------------------------------------

typedef struct {
  char *name;
  char *tensor;  // as in `serving_default_x:0`; NULL for sparse and composite ones
  TF_DataType dtype;
  int rank;  // -1 where it is not known
  int64_t dims[MAX_RANK];
} Spec;

typedef struct {
  Spec *items;
  size_t count;
} Specs;

typedef struct {
  char *name;
  Specs inputs, outputs;
} Signature;

typedef struct {
  Signature *items;
  size_t count;
} Signatures;

typedef struct {
  const uint8_t *at, *end;
} Bytes;

typedef struct {
  unsigned number;
  uint64_t value;  // of numbers
  Bytes content;   // of strings and messages
} Field;

static uint64_t varint(Bytes *bytes) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && bytes->at < bytes->end; shift += 7) {
    uint8_t byte = *bytes->at++;
    value |= (uint64_t)(byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
  fail("the model's MetaGraphDef is damaged");
}

// Takes the next field off a message; false at its end.
static bool next(Bytes *message, Field *field) {
  if (message->at == message->end) return false;
  uint64_t key = varint(message);
  field->number = (unsigned)(key >> 3);
  field->content = (Bytes){NULL, NULL};
  size_t size = 0;
  switch (key & 7) {
    case 0: field->value = varint(message); return true;
    case 1: size = 8; break;
    case 2: size = varint(message); break;
    case 5: size = 4; break;
    default: fail("the model's MetaGraphDef is damaged");
  }
  if (size > (size_t)(message->end - message->at)) fail("the model's MetaGraphDef is damaged");
  field->content = (Bytes){message->at, message->at + size};
  message->at += size;
  return true;
}

static char *text(Bytes bytes) {
  size_t size = (size_t)(bytes.end - bytes.at);
  char *copy = allocate(size + 1);
  if (size) memcpy(copy, bytes.at, size);
  return copy;
}

static void read_shape(Bytes message, Spec *spec) {  // TensorShapeProto
  for (Field field; next(&message, &field);) {
    if (field.number == 3 && field.value) {
      spec->rank = -1;
      return;
    }
    if (field.number != 2) continue;
    if (spec->rank == MAX_RANK) fail("a tensor has more than %d dimensions", MAX_RANK);
    int64_t size = 0;
    for (Field part; next(&field.content, &part);)
      if (part.number == 1) size = (int64_t)part.value;
    spec->dims[spec->rank++] = size;
  }
}

static void read_specs(Bytes entry, Specs *specs) {  // one entry of map<string, TensorInfo>
  specs->items = grown(specs->items, (specs->count + 1) * sizeof *specs->items);
  Spec *spec = &specs->items[specs->count++];
  memset(spec, 0, sizeof *spec);
  for (Field pair; next(&entry, &pair);) {
    if (pair.number == 1) spec->name = text(pair.content);
    if (pair.number != 2) continue;
    for (Field info; next(&pair.content, &info);) {
      if (info.number == 1) spec->tensor = text(info.content);
      if (info.number == 2) spec->dtype = (TF_DataType)info.value;
      if (info.number == 3) read_shape(info.content, spec);
    }
  }
  if (spec->name == NULL) fail("the model's MetaGraphDef is damaged");
}

static Signatures read_signatures(Bytes meta_graph) {
  Signatures found = {NULL, 0};
  for (Field field; next(&meta_graph, &field);) {
    if (field.number != 5) continue;
    Signature signature = {NULL, {NULL, 0}, {NULL, 0}};
    for (Field pair; next(&field.content, &pair);) {
      if (pair.number == 1) signature.name = text(pair.content);
      if (pair.number != 2) continue;
      for (Field part; next(&pair.content, &part);) {
        if (part.number == 1) read_specs(part.content, &signature.inputs);
        if (part.number == 2) read_specs(part.content, &signature.outputs);
      }
    }
    if (signature.name == NULL) fail("the model's MetaGraphDef is damaged");
    if (strncmp(signature.name, "__saved_model_", 14) == 0) continue;  // the loader runs it
    found.items = grown(found.items, (found.count + 1) * sizeof *found.items);
    found.items[found.count++] = signature;
  }
  return found;
}

static void print_specs(const char *title, const Specs *specs) {
  for (size_t i = 0; i < specs->count; i++) {
    const Spec *spec = &specs->items[i];
    const DataType *type = find_data_type(spec->dtype);
    printf("  %s %s: %s", title, spec->name, type ? type->name : "of another dtype,");
    if (spec->rank < 0) printf(" of any shape");
    for (int axis = 0; axis < spec->rank; axis++) {
      if (spec->dims[axis] < 0) printf(" ?");
      else printf(" %" PRId64, spec->dims[axis]);
    }
    putchar('\n');
  }
}

// --- Values: from lists and .npy files to tensors ----------------------------------------------

typedef struct {
  char *at;
  size_t size;
} String;

typedef struct {
  const char *input;  // its name, for messages
  const DataType *type;
  int rank;
  int64_t dims[MAX_RANK];
  size_t count;
  uint8_t *numbers;
  String *strings;
} Value;

static void add(Value *value, const void *number) {
  size_t size = TF_DataTypeSize(value->type->number);
  value->numbers = grown(value->numbers, (value->count + 1) * size);
  memcpy(value->numbers + value->count++ * size, number, size);
}

static void skip_blanks(const char **at) { *at += strspn(*at, " \t\r\n"); }

static void read_string(Value *value, const char **at) {
  char *copy = allocate(strlen(*at) + 1);
  size_t size = 0;
  for ((*at)++; **at != '"'; (*at)++) {
    if (**at == '\0') fail("input '%s': a string without end", value->input);
    if (**at == '\\') {
      (*at)++;
      const char *escapes = "\"\\/nrtbf", *plain = "\"\\/\n\r\t\b\f";
      const char *found = **at ? strchr(escapes, **at) : NULL;
      if (found == NULL) fail("input '%s': unknown escape \\%c", value->input, **at);
      copy[size++] = plain[found - escapes];
    } else {
      copy[size++] = **at;
    }
  }
  (*at)++;
  value->strings = grown(value->strings, (value->count + 1) * sizeof *value->strings);
  value->strings[value->count++] = (String){copy, size};
}

static void read_whole(Value *value, const char **at) {
  char *end;
  errno = 0;
  bool negative = **at == '-';
  int64_t small = negative ? strtoll(*at, &end, 10) : 0;
  uint64_t large = negative ? 0 : strtoull(*at, &end, 10);
  if (end == *at || *end == '.' || *end == 'e' || errno || small < value->type->smallest ||
      large > value->type->largest)
    fail("input '%s' takes numbers of %s. Received: %.40s", value->input, value->type->name, *at);
  // The machines of TensorFlow have the low bytes of a number first: they are the shorter number.
  if (negative) add(value, &small);
  else add(value, &large);
  *at = end;
}

static void read_leaf(Value *value, const char **at) {
  TF_DataType number = value->type->number;
  if (number == TF_STRING && **at == '"') {
    read_string(value, at);
  } else if (number == TF_BOOL && (strncmp(*at, "true", 4) == 0 || strncmp(*at, "false", 5) == 0)) {
    bool truth = **at == 't';
    add(value, &truth);
    *at += truth ? 4 : 5;
  } else if (number == TF_FLOAT || number == TF_DOUBLE) {
    char *end;
    double wide = strtod(*at, &end);
    float narrow = (float)wide;
    if (end == *at) fail("input '%s' takes numbers. Received: %.40s", value->input, *at);
    add(value, number == TF_FLOAT ? (void *)&narrow : (void *)&wide);
    *at = end;
  } else if (value->type->largest) {
    read_whole(value, at);
  } else {
    fail("input '%s' takes values of %s. Received: %.40s", value->input, value->type->name, *at);
  }
}

static void set_rank(Value *value, int rank) {
  if (value->rank >= 0 && value->rank != rank)
    fail("input '%s': lists of the same level must have the same length", value->input);
  value->rank = rank;
}

static void read_lists(Value *value, const char **at, int level) {
  skip_blanks(at);
  if (**at != '[') {
    set_rank(value, level);
    read_leaf(value, at);
    return;
  }
  if (level == MAX_RANK) fail("input '%s' has more than %d dimensions", value->input, MAX_RANK);
  int64_t size = 0;
  for ((*at)++, skip_blanks(at); **at != ']'; size++) {
    if (size) {
      if (**at != ',') fail("input '%s': expected , or ]. Received: %.40s", value->input, *at);
      (*at)++;
    }
    read_lists(value, at, level + 1);
    skip_blanks(at);
  }
  (*at)++;
  if (size == 0) set_rank(value, level + 1);
  if (value->dims[level] >= 0 && value->dims[level] != size)
    fail("input '%s': lists of the same level must have the same length", value->input);
  value->dims[level] = size;
}

static char *read_all(FILE *file, size_t *size) {
  char *content = NULL;
  *size = 0;
  for (size_t got = 1; got;) {
    content = grown(content, *size + 65537);
    got = fread(content + *size, 1, 65536, file);
    *size += got;
  }
  content[*size] = '\0';
  return content;
}

static void read_npy(Value *value, const char *path) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) fail("input '%s': %s: %s", value->input, path, strerror(errno));
  size_t size;
  char *content = read_all(file, &size);
  fclose(file);
  uint8_t *bytes = (uint8_t *)content;
  if (size < 12 || memcmp(content, "\x93NUMPY", 6) != 0)
    fail("input '%s': %s is no .npy file", value->input, path);
  bool short_header = bytes[6] == 1;
  size_t start = short_header ? 10 : 12;
  size_t header_size = bytes[8] | (size_t)bytes[9] << 8;
  if (!short_header) header_size |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
  if (header_size > size - start) fail("input '%s': %s is cut off", value->input, path);
  char *header = content + start, *data = header + header_size;
  char last = *data;
  *data = '\0';

  const char *descr = strstr(header, "'descr': '"), *shape = strstr(header, "'shape': (");
  if (descr == NULL || shape == NULL) fail("input '%s': %s has no plain array", value->input, path);
  descr += strlen("'descr': '");
  const char *wanted = value->type->npy;
  if (wanted == NULL || strncmp(descr, wanted, strlen(wanted)) != 0)
    fail("input '%s' expects dtype %s. Received: %s with '%.*s'", value->input, value->type->name,
         path, (int)strcspn(descr, "'"), descr);
  if (strstr(header, "'fortran_order': False") == NULL)
    fail("input '%s': %s is in Fortran order: save numpy.ascontiguousarray(it)", value->input, path);
  value->rank = 0;
  value->count = 1;
  for (char *at = (char *)shape + strlen("'shape': ("); *at != ')' && *at; at += strspn(at, ", ")) {
    if (value->rank == MAX_RANK) fail("input '%s' has too many dimensions", value->input);
    char *end;
    int64_t dim = strtoll(at, &end, 10);
    bool overflow = dim > 0 && value->count > SIZE_MAX / (size_t)dim;
    if (end == at || dim < 0 || overflow) fail("input '%s': %s is damaged", value->input, path);
    value->dims[value->rank++] = dim;
    value->count *= (size_t)dim;
    at = end;
  }
  *data = last;
  size_t available = size - start - header_size;
  size_t item = TF_DataTypeSize(value->type->number);
  if (value->count > available / item) fail("input '%s': %s is cut off", value->input, path);
  value->numbers = (uint8_t *)data;
}

static TF_Tensor *tensor_of(const Value *value) {
  bool is_string = value->type->number == TF_STRING;
  size_t item = is_string ? sizeof(TF_TString) : TF_DataTypeSize(value->type->number);
  TF_Tensor *tensor = TF_AllocateTensor(value->type->number, value->dims, value->rank,
                                        value->count * item);
  if (tensor == NULL) fail("input '%s': no memory", value->input);
  uint8_t *data = TF_TensorData(tensor);
  if (!is_string) {
    if (value->count) memcpy(data, value->numbers, value->count * item);
    return tensor;
  }
  for (size_t i = 0; i < value->count; i++) {
    TF_TString *cell = (TF_TString *)data + i;
    TF_StringInit(cell);
    TF_StringCopy(cell, value->strings[i].at, value->strings[i].size);
  }
  return tensor;
}

static TF_Tensor *read_input(const Spec *spec, const char *given) {
  Value value = {.input = spec->name, .type = data_type(spec->dtype, spec->name), .rank = -1};
  for (int axis = 0; axis < MAX_RANK; axis++) value.dims[axis] = -1;
  size_t length = strlen(given);
  if (length > 4 && strcmp(given + length - 4, ".npy") == 0) {
    read_npy(&value, given);
  } else {
    size_t size;
    const char *at = strcmp(given, "-") == 0 ? read_all(stdin, &size) : given;
    read_lists(&value, &at, 0);
    skip_blanks(&at);
    if (*at) fail("input '%s': expected the end. Received: %.40s", spec->name, at);
  }
  bool fits = spec->rank < 0 || spec->rank == value.rank;
  for (int axis = 0; fits && axis < spec->rank; axis++)
    fits = spec->dims[axis] < 0 || spec->dims[axis] == value.dims[axis];
  if (!fits) {
    fprintf(stderr, "tfkit_client: input '%s' expects shape", spec->name);
    for (int axis = 0; axis < spec->rank; axis++) fprintf(stderr, " %" PRId64, spec->dims[axis]);
    fprintf(stderr, ". Received:");
    for (int axis = 0; axis < value.rank; axis++) fprintf(stderr, " %" PRId64, value.dims[axis]);
    fputs(" (-1: any)\n", stderr);
    exit(1);
  }
  return tensor_of(&value);
}

// --- Outputs -----------------------------------------------------------------------------------

static void print_text(const char *at, size_t size) {
  putchar('"');
  for (size_t i = 0; i < size; i++) {
    unsigned char c = (unsigned char)at[i];
    if (c == '"' || c == '\\') printf("\\%c", c);
    else if (c < 0x20) printf("\\u%04x", c);
    else putchar(c);
  }
  putchar('"');
}

static void print_float(double number, int digits) {
  if (isnan(number)) printf("NaN");
  else if (isinf(number)) printf(number > 0 ? "Infinity" : "-Infinity");
  else printf("%.*g", digits, number);
}

static void print_item(TF_DataType type, const void *data, size_t i) {
  switch (type) {
    case TF_FLOAT: print_float(((const float *)data)[i], 9); break;
    case TF_DOUBLE: print_float(((const double *)data)[i], 17); break;
    case TF_INT8: printf("%" PRId8, ((const int8_t *)data)[i]); break;
    case TF_INT16: printf("%" PRId16, ((const int16_t *)data)[i]); break;
    case TF_INT32: printf("%" PRId32, ((const int32_t *)data)[i]); break;
    case TF_INT64: printf("%" PRId64, ((const int64_t *)data)[i]); break;
    case TF_UINT8: printf("%" PRIu8, ((const uint8_t *)data)[i]); break;
    case TF_UINT16: printf("%" PRIu16, ((const uint16_t *)data)[i]); break;
    case TF_UINT32: printf("%" PRIu32, ((const uint32_t *)data)[i]); break;
    case TF_UINT64: printf("%" PRIu64, ((const uint64_t *)data)[i]); break;
    case TF_BOOL: printf(((const bool *)data)[i] ? "true" : "false"); break;
    default: {
      const TF_TString *cell = (const TF_TString *)data + i;
      print_text(TF_StringGetDataPointer(cell), TF_StringGetSize(cell));
    }
  }
}

static size_t print_lists(const TF_Tensor *tensor, int axis, size_t item) {
  if (axis == TF_NumDims(tensor)) {
    print_item(TF_TensorType(tensor), TF_TensorData(tensor), item);
    return item + 1;
  }
  putchar('[');
  for (int64_t i = 0; i < TF_Dim(tensor, axis); i++) {
    if (i) printf(", ");
    item = print_lists(tensor, axis + 1, item);
  }
  putchar(']');
  return item;
}

static void write_npy(const char *folder, const char *name, const TF_Tensor *tensor) {
  const DataType *type = data_type(TF_TensorType(tensor), name);
  if (type->npy == NULL) fail("output '%s' of strings cannot be written as .npy", name);
  if (strchr(name, '/') || name[0] == '.') fail("output '%s' is no name of a file", name);
  char *path = allocate(strlen(folder) + strlen(name) + 6);
  sprintf(path, "%s/%s.npy", folder, name);
  char header[MAX_RANK * 24 + 128];
  int size = sprintf(header, "{'descr': '%s', 'fortran_order': False, 'shape': (", type->npy);
  for (int axis = 0; axis < TF_NumDims(tensor); axis++)
    size += sprintf(header + size, "%" PRId64 ",", TF_Dim(tensor, axis));
  size += sprintf(header + size, "), }");
  while ((10 + size + 1) % 64) header[size++] = ' ';
  header[size++] = '\n';
  FILE *file = fopen(path, "wb");
  if (file == NULL) fail("%s: %s", path, strerror(errno));
  fwrite("\x93NUMPY\x01\x00", 1, 8, file);
  fputc(size & 0xFF, file);
  fputc(size >> 8, file);
  fwrite(header, 1, (size_t)size, file);
  fwrite(TF_TensorData(tensor), 1, TF_TensorByteSize(tensor), file);
  if (ferror(file) | fclose(file)) fail("%s: %s", path, strerror(errno));
  free(path);
}

// --- Running -----------------------------------------------------------------------------------

typedef struct {
  const char *model, *signature, *output_dir;
  const char *inputs[MAX_INPUTS];
  int num_inputs;
  long repeat;
  bool list;
} Options;

static void check(TF_Status *status) {
  if (TF_GetCode(status) != TF_OK) fail("%s", TF_Message(status));
}

static TF_Output port(TF_Graph *graph, const Spec *spec) {
  if (spec->tensor == NULL) fail("'%s' is no dense tensor", spec->name);
  char *name = allocate(strlen(spec->tensor) + 1);
  strcpy(name, spec->tensor);
  char *colon = strrchr(name, ':');
  int index = colon ? atoi(colon + 1) : 0;
  if (colon) *colon = '\0';
  TF_Output found = {TF_GraphOperationByName(graph, name), index};
  if (found.oper == NULL) fail("'%s' names %s, which is not in the graph", spec->name, spec->tensor);
  free(name);
  return found;
}

static const Signature *find_signature(const Signatures *signatures, const char *name) {
  for (size_t i = 0; i < signatures->count; i++)
    if (strcmp(signatures->items[i].name, name) == 0) return &signatures->items[i];
  fprintf(stderr, "tfkit_client: unknown signature '%s'. Signatures of the model:", name);
  for (size_t i = 0; i < signatures->count; i++) fprintf(stderr, " %s", signatures->items[i].name);
  fputc('\n', stderr);
  exit(1);
}

// What was given for an input, as the text after `NAME=`.
static const char *given_for(const Options *options, const Spec *spec) {
  size_t length = strlen(spec->name);
  for (int i = 0; i < options->num_inputs; i++)
    if (strncmp(options->inputs[i], spec->name, length) == 0 && options->inputs[i][length] == '=')
      return options->inputs[i] + length + 1;
  fail("input '%s' is missing: --input %s=...", spec->name, spec->name);
}

static void check_names(const Options *options, const Signature *signature) {
  for (int i = 0; i < options->num_inputs; i++) {
    size_t length = strcspn(options->inputs[i], "=");
    bool known = false;
    for (size_t j = 0; j < signature->inputs.count; j++) {
      const char *name = signature->inputs.items[j].name;
      known |= strlen(name) == length && strncmp(name, options->inputs[i], length) == 0;
    }
    if (!known) {
      fprintf(stderr, "tfkit_client: unknown input '%.*s'. Inputs of '%s':", (int)length,
              options->inputs[i], signature->name);
      for (size_t j = 0; j < signature->inputs.count; j++)
        fprintf(stderr, " %s", signature->inputs.items[j].name);
      fputc('\n', stderr);
      exit(1);
    }
  }
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static int ascending(const void *one, const void *other) {
  double a = *(const double *)one, b = *(const double *)other;
  return (a > b) - (a < b);
}

static void print_percentiles(double *times, long count) {
  qsort(times, (size_t)count, sizeof *times, ascending);
  fprintf(stderr, "%ld runs, microseconds each:", count);
  const int percents[] = {50, 90, 99, 100};
  for (int i = 0; i < 4; i++)
    fprintf(stderr, " p%d %.1f", percents[i], times[(count - 1) * percents[i] / 100]);
  fputc('\n', stderr);
}

static void run(const Options *options, TF_Session *session, TF_Graph *graph,
                const Signature *signature, TF_Status *status) {
  check_names(options, signature);
  size_t num_inputs = signature->inputs.count, num_outputs = signature->outputs.count;
  TF_Output *sources = allocate(num_inputs * sizeof *sources);
  TF_Output *targets = allocate(num_outputs * sizeof *targets);
  TF_Tensor **inputs = allocate(num_inputs * sizeof *inputs);
  TF_Tensor **outputs = allocate(num_outputs * sizeof *outputs);
  for (size_t i = 0; i < num_inputs; i++) {
    const Spec *spec = &signature->inputs.items[i];
    sources[i] = port(graph, spec);
    inputs[i] = read_input(spec, given_for(options, spec));
  }
  for (size_t i = 0; i < num_outputs; i++) targets[i] = port(graph, &signature->outputs.items[i]);

  double *times = allocate((size_t)options->repeat * sizeof *times);
  for (long i = 0; i < options->repeat + 1; i++) {  // The first one is for the caches.
    for (size_t j = 0; j < num_outputs; j++)
      if (outputs[j]) TF_DeleteTensor(outputs[j]);
    double start = now();
    TF_SessionRun(session, NULL, sources, inputs, (int)num_inputs, targets, outputs,
                  (int)num_outputs, NULL, 0, NULL, status);
    if (i) times[i - 1] = now() - start;
    check(status);
  }
  if (options->repeat) print_percentiles(times, options->repeat);

  if (options->output_dir == NULL) putchar('{');
  for (size_t i = 0; i < num_outputs; i++) {
    const char *name = signature->outputs.items[i].name;
    data_type(TF_TensorType(outputs[i]), name);
    if (options->output_dir) {
      write_npy(options->output_dir, name, outputs[i]);
    } else {
      if (i) printf(", ");
      print_text(name, strlen(name));
      printf(": ");
      print_lists(outputs[i], 0, 0);
    }
    TF_DeleteTensor(outputs[i]);
  }
  if (options->output_dir == NULL) printf("}\n");
  for (size_t i = 0; i < num_inputs; i++) TF_DeleteTensor(inputs[i]);
  free(times), free(outputs), free(inputs), free(targets), free(sources);
}

static Options parse(int count, char **words) {
  Options options = {.signature = "serving_default"};
  for (int i = 1; i < count; i++) {
    const char *word = words[i], *value = i + 1 < count ? words[i + 1] : NULL;
    if (word[0] != '-' && options.model == NULL) {
      options.model = word;
      continue;
    }
    if (strcmp(word, "--list") == 0) {
      options.list = true;
      continue;
    }
    if (value == NULL) fail("unknown argument, or one without value: %s", word);
    i++;
    if (strcmp(word, "--signature") == 0) {
      options.signature = value;
    } else if (strcmp(word, "--output-dir") == 0) {
      options.output_dir = value;
    } else if (strcmp(word, "--repeat") == 0) {
      options.repeat = atol(value);
      if (options.repeat < 1) fail("--repeat takes a number of runs. Received: %s", value);
    } else if (strcmp(word, "--input") == 0) {
      if (strchr(value, '=') == NULL) fail("--input takes NAME=VALUE. Received: %s", value);
      if (options.num_inputs == MAX_INPUTS) fail("more than %d inputs", MAX_INPUTS);
      options.inputs[options.num_inputs++] = value;
    } else {
      fail("unknown argument: %s", word);
    }
  }
  if (options.model == NULL)
    fail("usage: tfkit_client MODEL [--list] [--signature NAME] [--input NAME=VALUE]... "
         "[--output-dir DIR] [--repeat N]");
  return options;
}

int main(int count, char **words) {
  Options options = parse(count, words);
  TF_Status *status = TF_NewStatus();
  TF_Graph *graph = TF_NewGraph();
  TF_Buffer *meta_graph = TF_NewBuffer();
  TF_SessionOptions *session_options = TF_NewSessionOptions();
  const char *tags[] = {"serve"};
  TF_Session *session = TF_LoadSessionFromSavedModel(session_options, NULL, options.model, tags, 1,
                                                     graph, meta_graph, status);
  check(status);
  const uint8_t *bytes = meta_graph->data;
  Signatures signatures = read_signatures((Bytes){bytes, bytes + meta_graph->length});

  if (options.list) {
    for (size_t i = 0; i < signatures.count; i++) {
      puts(signatures.items[i].name);
      print_specs("input", &signatures.items[i].inputs);
      print_specs("output", &signatures.items[i].outputs);
    }
  } else {
    run(&options, session, graph, find_signature(&signatures, options.signature), status);
  }

  TF_CloseSession(session, status);
  TF_DeleteSession(session, status);
  TF_DeleteSessionOptions(session_options);
  TF_DeleteBuffer(meta_graph);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(status);
  return fflush(stdout) ? 1 : 0;
}
