// One pair of `p2p_paper` per clock, 23 cycles from pins to outputs.
// At 150 MHz on `generic`: 1060 flip-flop bits in operators, 342 in delay lines.
module p2p_paper_pipeline (
    input  wire clk,
    input  wire [31:0] i_xi_0,
    input  wire [31:0] i_xi_1,
    input  wire [31:0] i_xi_2,
    input  wire [31:0] j_xj_0,
    input  wire [31:0] j_xj_1,
    input  wire [31:0] j_xj_2,
    input  wire [17:0] j_mj,
    output wire [63:0] o_pout,
    output wire [4:0] flags
);
    wire [17:0] j_mj_d16;
    delay_18_by_16 wait_j_mj_d16 (
        .clk(clk),
        .d(j_mj),
        .q(j_mj_d16)
    );
    // ---- cycle 0
    // line 6: dx  = (float18.9)(xj - xi); (int32, ready in cycle 1)
    wire [31:0] sub_7;
    sub_int32_int32 u7_sub_sub_7 (
        .clk(clk),
        .a(j_xj_0),
        .b(i_xi_0),
        .q(sub_7)
    );
    // line 6: dx  = (float18.9)(xj - xi); (int32, ready in cycle 1)
    wire [31:0] sub_8;
    sub_int32_int32 u8_sub_sub_8 (
        .clk(clk),
        .a(j_xj_1),
        .b(i_xi_1),
        .q(sub_8)
    );
    // line 6: dx  = (float18.9)(xj - xi); (int32, ready in cycle 1)
    wire [31:0] sub_9;
    sub_int32_int32 u9_sub_sub_9 (
        .clk(clk),
        .a(j_xj_2),
        .b(i_xi_2),
        .q(sub_9)
    );
    // ---- cycle 1
    // line 6: dx  = (float18.9)(xj - xi); (float18.9, ready in cycle 5)
    wire [17:0] dx_0;
    tofloat_int32_float18_9 u10_tofloat_dx_0 (
        .clk(clk),
        .a(sub_7),
        .q(dx_0)
    );
    // line 6: dx  = (float18.9)(xj - xi); (float18.9, ready in cycle 5)
    wire [17:0] dx_1;
    tofloat_int32_float18_9 u11_tofloat_dx_1 (
        .clk(clk),
        .a(sub_8),
        .q(dx_1)
    );
    // line 6: dx  = (float18.9)(xj - xi); (float18.9, ready in cycle 5)
    wire [17:0] dx_2;
    tofloat_int32_float18_9 u12_tofloat_dx_2 (
        .clk(clk),
        .a(sub_9),
        .q(dx_2)
    );
    wire [17:0] dx_2_d3;
    delay_18_by_3 wait_dx_2_d3 (
        .clk(clk),
        .d(dx_2),
        .q(dx_2_d3)
    );
    // ---- cycle 5
    // line 7: r2  = dx * dx; (float18.9, ready in cycle 8)
    wire [17:0] fmul_13;
    fmul_float18_9_float18_9_v1 u13_fmul_fmul_13 (
        .clk(clk),
        .a(dx_0),
        .b(dx_0),
        .q(fmul_13)
    );
    // line 7: r2  = dx * dx; (float18.9, ready in cycle 8)
    wire [17:0] fmul_14;
    fmul_float18_9_float18_9_v1 u14_fmul_fmul_14 (
        .clk(clk),
        .a(dx_1),
        .b(dx_1),
        .q(fmul_14)
    );
    // ---- cycle 8
    // line 7: r2  = dx * dx; (float18.9, ready in cycle 11)
    wire [17:0] fmul_15;
    fmul_float18_9_float18_9_v1 u15_fmul_fmul_15 (
        .clk(clk),
        .a(dx_2_d3),
        .b(dx_2_d3),
        .q(fmul_15)
    );
    // line 7: r2  = dx * dx; (float18.9, ready in cycle 11)
    wire [17:0] fadd_16;
    fadd_float18_9_float18_9_v1 u16_fadd_fadd_16 (
        .clk(clk),
        .a(fmul_13),
        .b(fmul_14),
        .q(fadd_16)
    );
    // ---- cycle 11
    // line 7: r2  = dx * dx; (float18.9, ready in cycle 14)
    wire [17:0] r2;
    fadd_float18_9_float18_9_v1 u17_fadd_r2 (
        .clk(clk),
        .a(fmul_15),
        .b(fadd_16),
        .q(r2)
    );
    // ---- cycle 14
    // line 8: inr = pg_pow(r2, -1, 2); (float18.9, ready in cycle 16)
    wire [17:0] inr;
    pow_float18_9_nm1_d2_v1 u18_pow_inr (
        .clk(clk),
        .a(r2),
        .q(inr)
    );
    // ---- cycle 16
    // line 9: mr  = inr * mj; (float18.9, ready in cycle 19)
    wire [17:0] mr;
    wire mr_f;
    fmul_float18_9_float18_9_v2 u19_fmul_mr (
        .clk(clk),
        .a(j_mj_d16),
        .b(inr),
        .q(mr),
        .f(mr_f)
    );
    // ---- cycle 19
    // line 11: pout += (int64)(mr << 45); (float18.9, ready in cycle 20)
    wire [17:0] fscale_20;
    wire fscale_20_f;
    fscale_float18_9_n45_d0 u20_fscale_fscale_20 (
        .clk(clk),
        .a(mr),
        .q(fscale_20),
        .f(fscale_20_f)
    );
    // ---- cycle 20
    // line 11: pout += (int64)(mr << 45); (int64, ready in cycle 23)
    wire [63:0] pout;
    wire pout_f;
    tofix_float18_9_int64 u21_tofix_pout (
        .clk(clk),
        .a(fscale_20),
        .q(pout),
        .f(pout_f)
    );
    // ---- the flags travel with their pair
    reg overflow_c21;
    always @(posedge clk) overflow_c21 <= fscale_20_f;
    reg overflow_c22;
    always @(posedge clk) overflow_c22 <= overflow_c21;
    reg overflow_c23;
    always @(posedge clk) overflow_c23 <= overflow_c22;
    reg underflow_c20;
    always @(posedge clk) underflow_c20 <= mr_f;
    reg underflow_c21;
    always @(posedge clk) underflow_c21 <= underflow_c20;
    reg underflow_c22;
    always @(posedge clk) underflow_c22 <= underflow_c21;
    reg underflow_c23;
    always @(posedge clk) underflow_c23 <= underflow_c22;
    assign flags = {1'b0, 1'b0, pout_f, underflow_c23, overflow_c23};
    assign o_pout = pout;
endmodule
