#ifndef COMMON_OCT_THREAD_H
#define COMMON_OCT_THREAD_H

#include <pthread.h>
#include <semaphore.h>

// Creates threads in a library that foreign programs link.
//
// Threads: any. Owns: nothing.

// pthread_create for a thread that blocks all signals, because they are for the program's own
// threads. Returns the result of pthread_create.
int oct_thread_create(pthread_t *out, void *(*run)(void *arg), void *arg);
// Calls sem_wait again if a signal interrupts it.
void oct_semaphore_wait(sem_t *semaphore);

#endif // COMMON_OCT_THREAD_H
