//! Calls that are wrong end with a status and a sentence, and never end the program.

#[test]
fn calls_that_are_wrong_end_with_a_status_and_a_sentence() {
    super::check("tests/programs/misuse.c");
}

#[test]
fn data_on_a_gpu_have_the_results_of_the_host() {
    super::check("tests/programs/gpu.c");
}
