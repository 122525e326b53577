// Prints the rows of every registry of numbers for tools/reference.py.
#include "learner/learner_numbers.h"

int
main(void)
{
    learner_figures figures;
    learner_means means = {0};
    oct_numbers *numbers = oct_numbers_create("learner.");
    learner_figures_init(&figures);
    learner_numbers_add(numbers, &figures);
    learner_numbers_add_algorithm(numbers, &means);
    oct_numbers_print(numbers, stdout);
    oct_numbers_destroy(numbers);
    return 0;
}
