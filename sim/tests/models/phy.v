// A PHY with RGMII at the pins of a board that sends back what it gets. The PHY delays both clocks by 2 ns; 2 ns more pass on the way
// of its clock to the FPGA's registers.
`timescale 1ps / 1ps

module board (
    input rgmii_rx_clk, rgmii_rx_ctl, input [3:0] rgmii_rx_data, output rgmii_tx_clk, rgmii_tx_ctl, output [3:0] rgmii_tx_data
);
    wire clk, rx_dv;
    wire [7:0] rx_data;
    reg tx_en;
    reg [7:0] tx_data;
    always @(posedge clk) {tx_en, tx_data} <= {rx_dv, rx_data};
    k_rgmii pins (
        .rgmii_rx_clk(rgmii_rx_clk), .rgmii_rx_ctl(rgmii_rx_ctl), .rgmii_rx_data(rgmii_rx_data), .rgmii_tx_clk(rgmii_tx_clk),
        .rgmii_tx_ctl(rgmii_tx_ctl), .rgmii_tx_data(rgmii_tx_data), .clk(clk), .gmii_rx_dv(rx_dv), .gmii_rx_data(rx_data),
        .gmii_tx_en(tx_en), .gmii_tx_data(tx_data)
    );
endmodule

module bench;
    reg clk = 1'b0;
    always #4000 clk = ~clk;
    // Whether a byte comes in each clock, and the byte.
    function [8:0] byte_at(input integer k);
        byte_at = {(k % 100) < 64, 8'd37 * k[7:0] + k[15:8]};
    endfunction
    integer at = 0, came = 0;
    reg rx_clk = 1'b0, rx_ctl = 1'b0;
    reg [3:0] rx_data = 4'd0;
    wire [8:0] now = byte_at(at);
    always @(clk) rx_clk <= #4000 clk;
    always @(posedge clk) {rx_ctl, rx_data} <= {now[8], now[3:0]};
    always @(negedge clk) begin
        {rx_ctl, rx_data} <= now[8:4];
        at <= at + 1;
        if (at == 1000) begin
            if (came == 640) $display("all came");
            $finish;
        end
    end
    wire tx_clk, tx_ctl;
    wire [3:0] tx_data;
    reg late = 1'b0, enable;
    reg [3:0] low;
    integer wanted = 0;
    wire [8:0] next = byte_at(wanted);
    always @(tx_clk) late <= #2000 tx_clk;
    always @(posedge late) {enable, low} <= {tx_ctl, tx_data};
    always @(negedge late) if (enable === 1'b1) begin
        if (tx_ctl !== 1'b1 || {tx_data, low} !== next[7:0]) $display("byte %0d: %h %b", wanted, {tx_data, low}, tx_ctl);
        came = came + 1;
        wanted = wanted + (wanted % 100 == 63 ? 37 : 1);
    end
    board board (
        .rgmii_rx_clk(rx_clk), .rgmii_rx_ctl(rx_ctl), .rgmii_rx_data(rx_data), .rgmii_tx_clk(tx_clk), .rgmii_tx_ctl(tx_ctl),
        .rgmii_tx_data(tx_data)
    );
endmodule
