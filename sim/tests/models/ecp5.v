// Short models of what the pins of a PHY take of ECP5 (Lattice FPGA-TN-02035). A step of a delay is 25 ps.
`timescale 1ps / 1ps

module DELAYG #(parameter DEL_MODE = "USER_DEFINED", DEL_VALUE = 0) (input A, output reg Z);
    always @(A) Z <= #(25 * DEL_VALUE) A;
endmodule

// A pair of bits a clock: that of the rising edge, and that of the falling edge behind it.
module IDDRX1F (input D, SCLK, RST, output reg Q0, Q1);
    reg first, second;
    always @(posedge SCLK) first <= D;
    always @(negedge SCLK) second <= D;
    always @(posedge SCLK) {Q0, Q1} <= RST ? 2'b00 : {first, second};
endmodule

module ODDRX1F (input D0, D1, SCLK, RST, output Q);
    reg first, second;
    always @(posedge SCLK) {first, second} <= RST ? 2'b00 : {D0, D1};
    assign Q = SCLK ? first : second;
endmodule
