#ifndef REPLAY_REPLAY_STEP_H
#define REPLAY_REPLAY_STEP_H

// Separates two stores that a killed process must leave in this order: what comes before
// replay_step is in memory before what comes after. A killed process has executed its stores up to
// some instruction, in program order, so it is enough to keep the compiler from moving them.
//
// Tests are built with REPLAY_STEPS and define replay_step_taken: they copy the memory at each
// step, which gives what a kill at that moment would leave.
#ifdef REPLAY_STEPS
void replay_step_taken(void);
#else
static inline void
replay_step_taken(void)
{
}
#endif

static inline void
replay_step(void)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    replay_step_taken();
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

#endif // REPLAY_REPLAY_STEP_H
