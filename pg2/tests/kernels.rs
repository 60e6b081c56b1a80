//! The shipped kernels compile, without a warning.

#[test]
fn every_shipped_kernel_compiles_without_a_warning() {
    if hdl::op::operator("sub").is_none() || hdl::op::operator("pow").is_none() {
        return;
    }
    for kernel in pg2::kernels::KERNELS {
        let compiled = pg2::compile(kernel.name, kernel.text).unwrap_or_else(|e| panic!("{}: {e:#?}", kernel.name));
        assert_eq!(compiled.warnings, vec![], "{}", kernel.name);
    }
}
