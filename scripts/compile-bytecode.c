/* Reads a script on stdin, prints its QuickJS bytecode as a C array: a step of scripts/build-cni.ts. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "quickjs.h"

#define SCRIPT_BYTES_MAX (4u << 20)

int main(void) {
  char *script = malloc(SCRIPT_BYTES_MAX);
  size_t length = fread(script, 1, SCRIPT_BYTES_MAX - 1, stdin);
  script[length] = '\0';
  JSContext *context = JS_NewContext(JS_NewRuntime());
  int flags = JS_EVAL_TYPE_GLOBAL | JS_EVAL_FLAG_COMPILE_ONLY;
  JSValue compiled = JS_Eval(context, script, length, "eniwhere-cni", flags);
  if (JS_IsException(compiled)) {
    fprintf(stderr, "%s\n", JS_ToCString(context, JS_GetException(context)));
    return 1;
  }
  size_t size;
  const uint8_t *bytes = JS_WriteObject(context, &size, compiled, JS_WRITE_OBJ_BYTECODE);
  if (bytes == NULL) return 1;
  printf("#include <stddef.h>\nconst size_t bytecode_length = %zu;\n", size);
  printf("const unsigned char bytecode[] = {");
  for (size_t index = 0; index < size; index++) printf("%s%d,", index % 32 == 0 ? "\n" : "", bytes[index]);
  printf("\n};\n");
  return 0;
}
