// The declarations of the C library that the library uses, from POSIX, with the type of a key and the nullability as on Darwin.
typedef unsigned long pthread_key_t;
int pthread_key_create(pthread_key_t *, void (*_Nullable)(void *));
void *_Nullable pthread_getspecific(pthread_key_t);
int pthread_setspecific(pthread_key_t, const void *_Nullable);
int pthread_main_np(void);
