    // `rst` is released long after the PLL has locked; the other clocks follow. The wire's clock comes from the PHY and may stand
    // still, so its reset begins without a clock.
    reg [1:0] core = 2'b11;
    always @(posedge core_clk) core <= {core[0], rst};
    assign core_rst = core[1];
    reg [1:0] wire_side = 2'b11;
    always @(posedge wire_clk or posedge core_rst) begin
        if (core_rst) wire_side <= 2'b11;
        else wire_side <= {wire_side[0], 1'b0};
    end
    assign wire_rst = wire_side[1];
    // The PHY is held in reset for 21 ms.
    reg [19:0] count = 20'd0;
    reg up = 1'b0;
    always @(posedge core_clk) begin
        count <= core_rst ? 20'd0 : count + {19'd0, ~up};
        up <= ~core_rst & (up | (&count));
    end
    assign phy_rst_n = up;
