#ifndef REPLAY_REPLAY_STEP_H
#define REPLAY_REPLAY_STEP_H

// Between two stores whose order matters to what a killed process leaves behind: what comes before
// this line is in memory before what comes after. A process that is killed has done its stores up
// to some instruction in the order of its instructions, so keeping the compiler from moving them is
// enough.
//
// Tests are built with REPLAY_STEPS and are told of each such place: they copy the memory there, as
// a kill at that moment would leave it.
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
