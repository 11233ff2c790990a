/*
 * The plugin's host: QuickJS with what src/cni/plugin-host.ts says, and nothing else. No decision is taken here.
 * scripts/build-cni.ts links it with the bytecode of src/bin/cni.ts.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "quickjs.h"

extern char **environ;

/* A network configuration, and an answer, are kilobytes; a GC list some hundreds of them. */
#define TEXT_BYTES_MAX (64u << 20)
#define MEMORY_BYTES_MAX (512u << 20)
#define STACK_BYTES_MAX (1u << 20)

typedef struct {
  char *bytes;
  size_t length;
} Text;

static int64_t now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* Appends what one read brings. Like read(2): 0 at the end, -1 with errno on failure. */
static ssize_t read_some(int fd, Text *text) {
  if (text->length + 65536 > TEXT_BYTES_MAX) {
    errno = EMSGSIZE;
    return -1;
  }
  size_t capacity = 131072;
  while (capacity < text->length + 65536) capacity *= 2;
  char *grown = realloc(text->bytes, capacity);
  if (grown == NULL) return -1;
  text->bytes = grown;
  ssize_t count;
  do count = read(fd, text->bytes + text->length, 65536);
  while (count < 0 && errno == EINTR);
  if (count > 0) text->length += (size_t)count;
  return count;
}

static int write_all(int fd, const char *bytes, size_t length) {
  while (length > 0) {
    ssize_t count = write(fd, bytes, length);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return -1;
    bytes += count;
    length -= (size_t)count;
  }
  return 0;
}

static const char *errno_text(int error) {
  switch (error) {
    case 0: return "";
    case EAGAIN: return "ETIMEDOUT"; /* What SO_RCVTIMEO and SO_SNDTIMEO answer. */
    default: {
      const char *name = strerrorname_np(error);
      return name == NULL ? strerror(error) : name;
    }
  }
}

/* Sets how long the socket's next call may take. False when the time is over. */
static int limit_call(int fd, int option, int64_t deadline_ms) {
  int64_t left_ms = deadline_ms - now_ms();
  if (left_ms <= 0) {
    errno = EAGAIN;
    return 0;
  }
  struct timeval limit = {.tv_sec = left_ms / 1000, .tv_usec = (left_ms % 1000) * 1000};
  return setsockopt(fd, SOL_SOCKET, option, &limit, sizeof limit) == 0;
}

/* Names the step that failed, with errno set, or "done". */
static const char *exchange(const char *path, Text request, const int64_t limits_ms[2], Text *answer, int fd) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return "connect";
  }
  strcpy(address.sun_path, path);
  int64_t taken_by_ms = now_ms() + limits_ms[0];
  if (!limit_call(fd, SO_SNDTIMEO, taken_by_ms)) return "connect";
  if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) return "connect";
  while (request.length > 0) {
    if (!limit_call(fd, SO_SNDTIMEO, taken_by_ms)) return "take";
    ssize_t count = send(fd, request.bytes, request.length, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    /* Somebody who refuses a request does not read it to its end, but may have answered. */
    if (count < 0 && errno == EPIPE) break;
    if (count <= 0) return "take";
    request.bytes += count;
    request.length -= (size_t)count;
  }
  int64_t deadline_ms = taken_by_ms;
  for (;;) {
    const char *step = answer->length == 0 ? "take" : "answer";
    if (!limit_call(fd, SO_RCVTIMEO, deadline_ms)) return step;
    size_t before = answer->length;
    ssize_t count = read_some(fd, answer);
    if (count == 0 || (count < 0 && errno == ECONNRESET)) return "done";
    if (count < 0) return step;
    if (before == 0) deadline_ms = now_ms() + limits_ms[1];
  }
}

static JSValue host_exchange(JSContext *context, JSValueConst self, int count, JSValueConst *values) {
  (void)self;
  (void)count;
  Text request = {0}, answer = {0};
  int64_t limits_ms[2];
  const char *path = JS_ToCString(context, values[0]);
  const char *text = JS_ToCStringLen(context, &request.length, values[1]);
  if (path == NULL || text == NULL) return JS_EXCEPTION;
  if (JS_ToInt64(context, &limits_ms[0], values[2]) != 0) return JS_EXCEPTION;
  if (JS_ToInt64(context, &limits_ms[1], values[3]) != 0) return JS_EXCEPTION;
  request.bytes = (char *)text;
  errno = 0;
  const char *step = "connect";
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd >= 0) step = exchange(path, request, limits_ms, &answer, fd);
  int error = strcmp(step, "done") == 0 ? 0 : errno;
  if (fd >= 0) close(fd);
  JSValue result = JS_NewObject(context);
  JS_SetPropertyStr(context, result, "step", JS_NewString(context, step));
  JS_SetPropertyStr(context, result, "errno", JS_NewString(context, errno_text(error)));
  JS_SetPropertyStr(context, result, "answer", JS_NewStringLen(context, answer.bytes ? answer.bytes : "", answer.length));
  free(answer.bytes);
  return result;
}

static JSValue host_finish(JSContext *context, JSValueConst self, int count, JSValueConst *values) {
  (void)self;
  (void)count;
  for (int index = 0; index < 2; index++) {
    size_t length;
    const char *text = JS_ToCStringLen(context, &length, values[index]);
    if (text != NULL) write_all(index + 1, text, length);
  }
  int32_t code = 1;
  JS_ToInt32(context, &code, values[2]);
  _exit(code);
}

static void add_function(JSContext *context, JSValue object, const char *name, JSCFunction *function, int count) {
  JS_SetPropertyStr(context, object, name, JS_NewCFunction(context, function, name, count));
}

static JSValue environment(JSContext *context) {
  JSValue object = JS_NewObject(context);
  for (char **entry = environ; *entry != NULL; entry++) {
    const char *equals = strchr(*entry, '=');
    if (equals == NULL || equals == *entry) continue;
    JSAtom name = JS_NewAtomLen(context, *entry, (size_t)(equals - *entry));
    /* Defined, not set: a variable named __proto__ is one like any other. */
    JS_DefinePropertyValue(context, object, name, JS_NewString(context, equals + 1), JS_PROP_C_W_E);
    JS_FreeAtom(context, name);
  }
  return object;
}

/* A CNI error (999, internal) for what should not happen: a runtime reads stdout. Must not contain quotes. */
static int fail(const char *what) {
  char text[512];
  int length = snprintf(text, sizeof text,
                        "{\"cniVersion\":\"1.0.0\",\"code\":999,\"msg\":\"the plugin failed; this is a bug of "
                        "Eniwhere\",\"details\":\"%s\"}",
                        what);
  write_all(1, text, (size_t)length);
  return 1;
}

extern const size_t bytecode_length;
extern const unsigned char bytecode[];

/* Only what the plugin's code uses: each part takes time to set up. */
static JSContext *new_context(JSRuntime *runtime) {
  JSContext *context = JS_NewContextRaw(runtime);
  if (context == NULL) return NULL;
  JS_AddIntrinsicBaseObjects(context);
  JS_AddIntrinsicRegExp(context);
  JS_AddIntrinsicRegExpCompiler(context);
  JS_AddIntrinsicJSON(context);
  JS_AddIntrinsicMapSet(context);
  JS_AddIntrinsicPromise(context);
  return context;
}

int main(void) {
  Text input = {0};
  ssize_t count;
  while ((count = read_some(0, &input)) > 0) {}
  if (count < 0) return fail(errno_text(errno));
  JSRuntime *runtime = JS_NewRuntime();
  JS_SetMemoryLimit(runtime, MEMORY_BYTES_MAX);
  JS_SetMaxStackSize(runtime, STACK_BYTES_MAX);
  JSContext *context = new_context(runtime);
  if (context == NULL) return fail("out of memory");
  JSValue global = JS_GetGlobalObject(context), host = JS_NewObject(context);
  JS_SetPropertyStr(context, host, "env", environment(context));
  JS_SetPropertyStr(context, host, "stdin", JS_NewStringLen(context, input.bytes, input.length));
  add_function(context, host, "exchange", host_exchange, 4);
  add_function(context, host, "finish", host_finish, 3);
  JS_SetPropertyStr(context, global, "host", host);
  JSValue script = JS_ReadObject(context, bytecode, bytecode_length, JS_READ_OBJ_BYTECODE);
  if (JS_IsException(JS_EvalFunction(context, script))) return fail("the script threw");
  /* Ends the process when the plugin's promises are settled. */
  JSContext *job;
  while (JS_ExecutePendingJob(runtime, &job) > 0) {}
  return fail("the script ended without an answer");
}
