//! The shipped kernels compile, without a warning.

#[test]
fn every_shipped_kernel_compiles_without_a_warning() {
    for kernel in pg2::kernels::KERNELS {
        let compiled = pg2::compile(kernel.name, kernel.text).unwrap_or_else(|e| panic!("{}: {e:#?}", kernel.name));
        assert_eq!(compiled.warnings, vec![], "{}", kernel.name);
    }
}

#[test]
fn m2l_kernels_of_every_order_compile_without_a_warning() {
    for order in pg2::gen_m2l::ORDERS {
        let text = pg2::gen_m2l(order).unwrap();
        let compiled = pg2::compile("m2l", &text).unwrap_or_else(|e| panic!("order {order}: {e:#?}"));
        assert_eq!(compiled.warnings, vec![], "order {order}");
    }
}
