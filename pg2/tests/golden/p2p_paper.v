// One pair of `p2p_paper` per clock, 16 cycles from pins to outputs.
// At 150 MHz on `generic`: 824 flip-flop bits.
module p2p_paper_pipeline (
    input  wire clk,
    input  wire [31:0] i_xi_0,
    input  wire [31:0] i_xi_1,
    input  wire [31:0] i_xi_2,
    input  wire [31:0] j_xj_0,
    input  wire [31:0] j_xj_1,
    input  wire [31:0] j_xj_2,
    input  wire [17:0] j_mj,
    output wire [24:0] o_pout_window,
    output wire [7:0] o_pout_select,
    output wire [1:0] o_pout_round,
    output wire [4:0] flags
);
    wire [31:0] sub_7;
    wire [31:0] sub_8;
    wire [31:0] sub_9;
    wire [16:0] dx_0_s3;
    wire [16:0] dx_1_s3;
    wire [16:0] dx_2_s5;
    wire [17:0] fmul_13;
    wire [8:0] fmul_13_s5;
    wire [17:0] fmul_14;
    wire [8:0] fmul_14_s5;
    wire [17:0] fmul_15;
    wire [17:0] fadd_16;
    wire [17:0] r2;
    wire [17:0] inr;
    wire [8:0] inr_s11;
    wire mr_below_s16;
    wire [17:0] mr_s14;
    wire pout_above_s16;
    wire [1:0] pout_round;
    wire pout_sat_s16;
    wire [7:0] pout_select;
    wire [24:0] pout_window_4_s16;
    wire invalid = 1'b0;
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
    reg [8:0] j_mj_s11_8_0;
    always @(posedge clk) j_mj_s11_8_0 <= j_mj_s10[8:0];
    reg j_mj_s11_17_17;
    always @(posedge clk) j_mj_s11_17_17 <= j_mj_s10[17];
    reg j_mj_s12;
    always @(posedge clk) j_mj_s12 <= j_mj_s11_17_17;
    reg j_mj_s13;
    always @(posedge clk) j_mj_s13 <= j_mj_s12;
    wire overflow = pout_above_s16;
    wire underflow = mr_below_s16;
    wire saturation = pout_sat_s16;
    wire [4:0] raised = {{2{invalid}}, saturation, underflow, overflow};
    assign o_pout_window = pout_window_4_s16;
    assign o_pout_select = pout_select;
    assign o_pout_round = pout_round;
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
        .dx_0_s3_out(dx_0_s3)
    );
    p2p_paper_pipeline_u11_tofloat_dx_1 u11_tofloat_dx_1 (
        .clk(clk),
        .sub_8(sub_8),
        .dx_1_s3_out(dx_1_s3)
    );
    p2p_paper_pipeline_u12_tofloat_dx_2 u12_tofloat_dx_2 (
        .clk(clk),
        .sub_9(sub_9),
        .dx_2_s5_out(dx_2_s5)
    );
    p2p_paper_pipeline_u13_fmul_fmul_13 u13_fmul_fmul_13 (
        .clk(clk),
        .dx_0_s3(dx_0_s3),
        .fmul_13_out(fmul_13),
        .fmul_13_s5_out(fmul_13_s5)
    );
    p2p_paper_pipeline_u14_fmul_fmul_14 u14_fmul_fmul_14 (
        .clk(clk),
        .dx_1_s3(dx_1_s3),
        .fmul_14_out(fmul_14),
        .fmul_14_s5_out(fmul_14_s5)
    );
    p2p_paper_pipeline_u15_fmul_fmul_15 u15_fmul_fmul_15 (
        .clk(clk),
        .dx_2_s5(dx_2_s5),
        .fmul_15_out(fmul_15)
    );
    p2p_paper_pipeline_u16_fadd_fadd_16 u16_fadd_fadd_16 (
        .clk(clk),
        .fmul_13(fmul_13),
        .fmul_13_s5(fmul_13_s5),
        .fmul_14(fmul_14),
        .fmul_14_s5(fmul_14_s5),
        .fadd_16_out(fadd_16)
    );
    p2p_paper_pipeline_u17_fadd_r2 u17_fadd_r2 (
        .clk(clk),
        .fadd_16(fadd_16),
        .fmul_15(fmul_15),
        .r2_out(r2)
    );
    p2p_paper_pipeline_u18_pow_inr u18_pow_inr (
        .clk(clk),
        .r2(r2),
        .inr_out(inr),
        .inr_s11_out(inr_s11)
    );
    p2p_paper_pipeline_u19_fmul_mr u19_fmul_mr (
        .clk(clk),
        .inr(inr),
        .inr_s11(inr_s11),
        .j_mj_s10(j_mj_s10),
        .j_mj_s11_8_0(j_mj_s11_8_0),
        .j_mj_s13(j_mj_s13),
        .mr_below_s16_out(mr_below_s16),
        .mr_s14_out(mr_s14)
    );
    p2p_paper_pipeline_u21_tofix_pout u21_tofix_pout (
        .clk(clk),
        .mr_s14(mr_s14),
        .pout_above_s16_out(pout_above_s16),
        .pout_round_out(pout_round),
        .pout_sat_s16_out(pout_sat_s16),
        .pout_select_out(pout_select),
        .pout_window_4_s16_out(pout_window_4_s16)
    );
endmodule
