// The engine alone: every input and output of it is a register here.
module @{top}@ (
    input  wire clk,
    input  wire rst_in,
    input  wire serial_in,
    output reg  serial_out
);
    reg rst_1, rst;
    reg [@{bits + 2}@:0] shift_in, in;
    reg [@{bits + 2}@:0] out, shift_out;
    wire [@{bits + 2}@:0] from;
    always @(posedge clk) begin
        rst_1 <= rst_in;
        rst <= rst_1;
        shift_in <= {shift_in[@{bits + 1}@:0], serial_in};
        in <= shift_in;
        out <= from;
        // A word is taken whenever a marker arrives at the end of the input's register.
        shift_out <= shift_in[@{bits + 2}@] ? out : {shift_out[@{bits + 1}@:0], 1'b0};
        serial_out <= shift_out[@{bits + 2}@];
    end
    @{engine}@ engine (
        .clk(clk),
        .rst(rst),
        .s_tdata(in[@{bits - 1}@:0]),
        .s_tvalid(in[@{bits}@]),
        .s_tlast(in[@{bits + 1}@]),
        .m_tready(in[@{bits + 2}@]),
        .s_tready(from[@{bits + 2}@]),
        .m_tdata(from[@{bits - 1}@:0]),
        .m_tvalid(from[@{bits}@]),
        .m_tlast(from[@{bits + 1}@])
    );
endmodule
