#ifndef COMMON_OCT_THREAD_H
#define COMMON_OCT_THREAD_H

#include <pthread.h>
#include <semaphore.h>

// Threads of a library, in programs of others.
//
// Threads: any. Owns: nothing.

// pthread_create, of a thread that no signal is delivered to: they are for the program's threads.
// Answers what that does.
int oct_thread_create(pthread_t *out, void *(*run)(void *arg), void *arg);
// sem_wait, over signals.
void oct_semaphore_wait(sem_t *semaphore);

#endif // COMMON_OCT_THREAD_H
