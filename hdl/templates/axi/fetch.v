    // Reads the commands ahead, in bursts that end where their own size divides the address: so none crosses 4 kB. A burst is
    // asked for once there is room for all of it, so that the memory never waits.
    localparam [@{beat_bits}@:0] BURST = @{beat_bits + 1}@'d@{burst}@;
    reg [@{63 - align_bits}@:0] at;
    reg [30:0] left;               // beats that are still to be asked for
    reg [@{beat_bits}@:0] count;          // of the next burst
    reg counted;
    reg asking;
    reg open;
    reg [@{room_bits - 1}@:0] room;           // places in the queue that nothing has been asked for
    reg [@{room_bits - 1}@:0] waiting;        // beats that were asked for and have not come
    reg waits;
    wire [@{beat_bits}@:0] to_end = BURST - {1'b0, at[@{beat_bits - 1}@:0]};
{%- if beat_words > 1 %}
    wire [30:0] rounded = {1'b0, command_words} + 31'd@{beat_words - 1}@;
{%- endif %}
    wire short = left < {@{30 - beat_bits}@'d0, to_end};
    wire takes = ~asking & counted & ~halt & ~stop & (room >= {@{room_bits - 1 - beat_bits}@'d0, count});
    wire [@{room_bits - 1}@:0] taken = {@{room_bits - 1 - beat_bits}@'d0, count & {@{beat_bits + 1}@{takes}}};
    wire comes = m_axi_commands_rvalid & open;

    assign m_axi_commands_arid = 1'b0;
    assign m_axi_commands_araddr = {at, @{align_bits}@'d0};
    assign m_axi_commands_arlen = {@{7 - beat_bits}@'d0, count - @{beat_bits + 1}@'d1};
    assign m_axi_commands_arsize = 3'd@{align_bits}@;
    assign m_axi_commands_arburst = 2'b01;
    assign m_axi_commands_arcache = 4'b0011;
    assign m_axi_commands_arprot = 3'b000;
    assign m_axi_commands_arvalid = asking;
    assign m_axi_commands_rready = open;
    assign fetch_push = comes;
    assign fetch_beat = {m_axi_commands_rresp[1], m_axi_commands_rdata};
    assign fetch_idle = ~waits & ~asking;

    always @(posedge clk) begin
        open <= ~rst;
        if (rst) begin
            asking <= 1'b0;
            counted <= 1'b0;
            left <= 31'd0;
            waiting <= @{room_bits}@'d0;
            waits <= 1'b0;
        end else begin
            if (takes) asking <= 1'b1;
            else if (m_axi_commands_arready) asking <= 1'b0;
            if (go) left <= {% if beat_words == 1 %}{1'b0, command_words};
{%- else %}{@{word_bits}@'d0, rounded[30:@{word_bits}@]};
{%- endif %}
            else if (asking & m_axi_commands_arready) left <= left - {@{30 - beat_bits}@'d0, count};
            counted <= (left != 31'd0) & ~go & ~takes & ~asking;
            waiting <= waiting + taken - {@{room_bits - 1}@'d0, comes};
            waits <= takes | (waiting > @{room_bits}@'d1) | ((waiting == @{room_bits}@'d1) & ~comes);
        end
        if (go) at <= commands_at[63:@{align_bits}@];
        else if (asking & m_axi_commands_arready) at <= at + {@{63 - align_bits - beat_bits}@'d0, count};
        // It stands still while it is on offer.
        if (~counted & ~asking) count <= short ? left[@{beat_bits}@:0] : to_end;
        if (clear) room <= @{room_bits}@'d@{queue}@;
        else room <= room - taken + {@{room_bits - 1}@'d0, feed_pop};
    end
    wire unused = &{1'b0, commands_at[@{align_bits - 1}@:0], m_axi_commands_rid, m_axi_commands_rlast, m_axi_commands_rresp[0]{% if beat_words > 1 %}, rounded[@{word_bits - 1}@:0]{% endif %}};
