/* fakertc.h -- what tests set and read in the NVRTC made for tests */
#ifndef FAKERTC_H
#define FAKERTC_H

enum fakertc_call {
    FAKERTC_NONE,
    FAKERTC_CREATE,
    FAKERTC_COMPILE,
    FAKERTC_PTX_SIZE,
    FAKERTC_PTX,
    FAKERTC_LOG_SIZE,
    FAKERTC_LOG,
    FAKERTC_DESTROY
};

struct fakertc {
    enum fakertc_call fails; /* this call returns `code`                     */
    int code;
    const char *log;         /* NULL = an empty one                          */
    const char *ptx;         /* NULL = a comment that names file and target  */
    int major, minor;        /* 0 = 13.4                                     */
    long compiled, live;
    char options[4096];      /* of the last compilation, one a line          */
    char headers[1024];      /* of the last program, "name=text" one a line  */
};

typedef struct fakertc *(*fakertc_state_fn)(void);

#endif
