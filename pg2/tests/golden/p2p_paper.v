// One pair of `p2p_paper` per clock, 21 cycles from pins to outputs.
// At 150 MHz on `generic`: 1297 flip-flop bits.
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
    wire [31:0] sub_7;
    wire [31:0] sub_8;
    wire [31:0] sub_9;
    wire [17:0] dx_0_s5;
    wire [8:0] dx_0_s6;
    wire [17:0] dx_1_s5;
    wire [8:0] dx_1_s6;
    wire [17:0] dx_2_s7;
    wire [8:0] dx_2_s8;
    wire dx_2_s9;
    wire [17:0] fmul_13;
    wire [17:0] fmul_14;
    wire [16:0] fmul_15_s10;
    wire [17:0] fadd_16;
    wire [17:0] r2;
    wire [16:0] r2_s13;
    wire [16:0] inr_s14;
    wire mr_below_s21;
    wire [17:0] mr_s17;
    wire fscale_20_above_s21;
    wire [17:0] fscale_20_s18;
    wire [63:0] pout_s21;
    wire pout_sat_s21;
    wire invalid = 1'b0;
    wire wrap = 1'b0;
    reg [17:0] j_mj_s1;
    always @(posedge clk) j_mj_s1 <= j_mj;
    reg [17:0] j_mj_s2;
    always @(posedge clk) j_mj_s2 <= j_mj_s1;
    reg [17:0] j_mj_s3;
    always @(posedge clk) j_mj_s3 <= j_mj_s2;
    reg [17:0] j_mj_s4;
    always @(posedge clk) j_mj_s4 <= j_mj_s3;
    reg [17:0] j_mj_s5;
    always @(posedge clk) j_mj_s5 <= j_mj_s4;
    reg [17:0] j_mj_s6;
    always @(posedge clk) j_mj_s6 <= j_mj_s5;
    reg [17:0] j_mj_s7;
    always @(posedge clk) j_mj_s7 <= j_mj_s6;
    reg [17:0] j_mj_s8;
    always @(posedge clk) j_mj_s8 <= j_mj_s7;
    reg [17:0] j_mj_s9;
    always @(posedge clk) j_mj_s9 <= j_mj_s8;
    reg [17:0] j_mj_s10;
    always @(posedge clk) j_mj_s10 <= j_mj_s9;
    reg [17:0] j_mj_s11;
    always @(posedge clk) j_mj_s11 <= j_mj_s10;
    reg [17:0] j_mj_s12;
    always @(posedge clk) j_mj_s12 <= j_mj_s11;
    reg [17:0] j_mj_s13;
    always @(posedge clk) j_mj_s13 <= j_mj_s12;
    reg [17:0] j_mj_s14;
    always @(posedge clk) j_mj_s14 <= j_mj_s13;
    reg j_mj_s15;
    always @(posedge clk) j_mj_s15 <= j_mj_s14[17];
    reg j_mj_s16;
    always @(posedge clk) j_mj_s16 <= j_mj_s15;
    wire overflow = fscale_20_above_s21;
    wire underflow = mr_below_s21;
    wire saturation = pout_sat_s21;
    wire [4:0] raised = {wrap, invalid, saturation, underflow, overflow};
    assign o_pout = pout_s21;
    assign flags = raised;
    p2p_paper_pipeline_u7_sub_sub_7 u7_sub_sub_7 (
        .i_xi_0(i_xi_0),
        .j_xj_0(j_xj_0),
        .sub_7_out(sub_7)
    );
    p2p_paper_pipeline_u8_sub_sub_8 u8_sub_sub_8 (
        .i_xi_1(i_xi_1),
        .j_xj_1(j_xj_1),
        .sub_8_out(sub_8)
    );
    p2p_paper_pipeline_u9_sub_sub_9 u9_sub_sub_9 (
        .i_xi_2(i_xi_2),
        .j_xj_2(j_xj_2),
        .sub_9_out(sub_9)
    );
    p2p_paper_pipeline_u10_tofloat_dx_0 u10_tofloat_dx_0 (
        .clk(clk),
        .sub_7(sub_7),
        .dx_0_s5_out(dx_0_s5),
        .dx_0_s6_out(dx_0_s6)
    );
    p2p_paper_pipeline_u11_tofloat_dx_1 u11_tofloat_dx_1 (
        .clk(clk),
        .sub_8(sub_8),
        .dx_1_s5_out(dx_1_s5),
        .dx_1_s6_out(dx_1_s6)
    );
    p2p_paper_pipeline_u12_tofloat_dx_2 u12_tofloat_dx_2 (
        .clk(clk),
        .sub_9(sub_9),
        .dx_2_s7_out(dx_2_s7),
        .dx_2_s8_out(dx_2_s8),
        .dx_2_s9_out(dx_2_s9)
    );
    p2p_paper_pipeline_u13_fmul_fmul_13 u13_fmul_fmul_13 (
        .clk(clk),
        .dx_0_s5(dx_0_s5),
        .dx_0_s6(dx_0_s6),
        .fmul_13_out(fmul_13)
    );
    p2p_paper_pipeline_u14_fmul_fmul_14 u14_fmul_fmul_14 (
        .clk(clk),
        .dx_1_s5(dx_1_s5),
        .dx_1_s6(dx_1_s6),
        .fmul_14_out(fmul_14)
    );
    p2p_paper_pipeline_u15_fmul_fmul_15 u15_fmul_fmul_15 (
        .clk(clk),
        .dx_2_s7(dx_2_s7),
        .dx_2_s8(dx_2_s8),
        .dx_2_s9(dx_2_s9),
        .fmul_15_s10_out(fmul_15_s10)
    );
    p2p_paper_pipeline_u16_fadd_fadd_16 u16_fadd_fadd_16 (
        .clk(clk),
        .fmul_13(fmul_13),
        .fmul_14(fmul_14),
        .fadd_16_out(fadd_16)
    );
    p2p_paper_pipeline_u17_fadd_r2 u17_fadd_r2 (
        .clk(clk),
        .fadd_16(fadd_16),
        .fmul_15_s10(fmul_15_s10),
        .r2_out(r2),
        .r2_s13_out(r2_s13)
    );
    p2p_paper_pipeline_u18_pow_inr u18_pow_inr (
        .clk(clk),
        .r2(r2),
        .r2_s13(r2_s13),
        .inr_s14_out(inr_s14)
    );
    p2p_paper_pipeline_u19_fmul_mr u19_fmul_mr (
        .clk(clk),
        .inr_s14(inr_s14),
        .j_mj_s14(j_mj_s14),
        .j_mj_s16(j_mj_s16),
        .mr_below_s21_out(mr_below_s21),
        .mr_s17_out(mr_s17)
    );
    p2p_paper_pipeline_u20_fscale_fscale_20 u20_fscale_fscale_20 (
        .clk(clk),
        .mr_s17(mr_s17),
        .fscale_20_above_s21_out(fscale_20_above_s21),
        .fscale_20_s18_out(fscale_20_s18)
    );
    p2p_paper_pipeline_u21_tofix_pout u21_tofix_pout (
        .clk(clk),
        .fscale_20_s18(fscale_20_s18),
        .pout_s21_out(pout_s21),
        .pout_sat_s21_out(pout_sat_s21)
    );
endmodule
