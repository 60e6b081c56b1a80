// $alu to carry chains of logic elements, one a bit, which yosys does not map for this family.
(* techmap_celltype = "$alu" *)
module pf_alu (A, B, CI, BI, X, Y, CO);
    parameter A_SIGNED = 0;
    parameter B_SIGNED = 0;
    parameter A_WIDTH = 1;
    parameter B_WIDTH = 1;
    parameter Y_WIDTH = 1;
    parameter _TECHMAP_CONSTMSK_CI_ = 0;
    parameter _TECHMAP_CONSTVAL_CI_ = 0;
    parameter _TECHMAP_CONSTMSK_BI_ = 0;
    parameter _TECHMAP_CONSTVAL_BI_ = 0;
    (* force_downto *) input [A_WIDTH-1:0] A;
    (* force_downto *) input [B_WIDTH-1:0] B;
    input CI, BI;
    (* force_downto *) output [Y_WIDTH-1:0] X, Y, CO;

    // Up to three bits are smaller as tables.
    wire _TECHMAP_FAIL_ = Y_WIDTH <= 3;

    (* force_downto *) wire [Y_WIDTH-1:0] AA, BW, BB;
    \$pos #(.A_SIGNED(A_SIGNED), .A_WIDTH(A_WIDTH), .Y_WIDTH(Y_WIDTH)) ca (.A(A), .Y(AA));
    \$pos #(.A_SIGNED(B_SIGNED), .A_WIDTH(B_WIDTH), .Y_WIDTH(Y_WIDTH)) cb (.A(B), .Y(BW));

    // The element's tables invert an operand for nothing; choosing between sum and difference takes a table each bit.
    localparam SUBTRACT = _TECHMAP_CONSTMSK_BI_ && _TECHMAP_CONSTVAL_BI_;
    assign BB = _TECHMAP_CONSTMSK_BI_ ? BW : BW ^ {Y_WIDTH{BI}};

    // The carry into the first element: a constant is part of its tables, anything else takes an element of its own.
    wire [Y_WIDTH:0] C;
    generate
        if (_TECHMAP_CONSTMSK_CI_) assign C[0] = CI;
        else pf_carry enter (.a(CI), .b(1'b1), .cin(1'b0), .sum(), .cout(C[0]));
    endgenerate

    genvar i;
    generate
        for (i = 0; i < Y_WIDTH; i = i + 1) begin : bits
            pf_carry #(.SUM(SUBTRACT ? 8'h69 : 8'h96), .CARRY(SUBTRACT ? 8'hb2 : 8'he8)) element (
                .a(AA[i]), .b(BB[i]), .cin(C[i]), .sum(Y[i]), .cout(C[i + 1]));
            // A carry leaves a chain through the sum of one more element. What nobody reads is removed again.
            pf_carry leave (.a(1'b0), .b(1'b0), .cin(C[i + 1]), .sum(CO[i]), .cout());
        end
    endgenerate
    assign X = AA ^ (SUBTRACT ? ~BB : BB);
endmodule
