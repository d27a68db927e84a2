/* A library to link with that has nothing. */
int ingot_test_nothing;
