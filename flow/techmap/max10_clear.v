// Flip-flops with a synchronous clear, which yosys maps for this family only as tables. The enable holds the clear back too.
(* techmap_celltype = "$_SDFFCE_PP0P_" *)
module pf_cleared (input D, C, R, E, output Q);
    dffeas #(.is_wysiwyg("TRUE"), .power_up("low")) _TECHMAP_REPLACE_ (
        .d(D), .q(Q), .clk(C), .clrn(1'b1), .prn(1'b1), .ena(E),
        .asdata(1'b0), .aload(1'b0), .sclr(R), .sload(1'b0));
    wire _TECHMAP_REMOVEINIT_Q_ = 1;
endmodule
