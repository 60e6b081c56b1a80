    // Half a byte on each edge of the clock, the low one first. The PHY's clock of 125 MHz serves both directions.
    assign clk = rgmii_rx_clk;
    wire [4:0] in = {rgmii_rx_ctl, rgmii_rx_data};
    wire [4:0] late, rise, fall;
    reg [4:0] low, high;
    genvar k;
    generate
        for (k = 0; k < 5; k = k + 1) begin : g_in
            DELAYG #(.DEL_MODE("USER_DEFINED"), .DEL_VALUE(@{rx_delay}@)) delay (.A(in[k]), .Z(late[k]));
            IDDRX1F pair (.D(late[k]), .SCLK(clk), .RST(1'b0), .Q0(rise[k]), .Q1(fall[k]));
        end
    endgenerate
    always @(posedge clk) begin
        low <= rise;
        high <= fall;
    end
    assign gmii_rx_dv = low[4];
    assign gmii_rx_data = {high[3:0], low[3:0]};

    // The control line has the sum of enable and error on the second edge, and there is no error.
    wire [5:0] first = {1'b1, gmii_tx_en, gmii_tx_data[3:0]};
    wire [5:0] second = {1'b0, gmii_tx_en, gmii_tx_data[7:4]};
    wire [5:0] pair_out, out;
    assign {rgmii_tx_clk, rgmii_tx_ctl, rgmii_tx_data} = out;
    generate
        for (k = 0; k < 6; k = k + 1) begin : g_out
            ODDRX1F pair (.D0(first[k]), .D1(second[k]), .SCLK(clk), .RST(1'b0), .Q(pair_out[k]));
            DELAYG #(.DEL_MODE("USER_DEFINED"), .DEL_VALUE(k == 5 ? @{tx_delay}@ : 0)) delay (.A(pair_out[k]), .Z(out[k]));
        end
    endgenerate
