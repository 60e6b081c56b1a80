    // To the engines: the first beat of a packet has the number of its engine, and goes no further. A packet for an engine that
    // there is not is dropped.
    reg open;
    reg in_body;
    reg [@{count - 1}@:0] chosen;
    wire taken = s_tvalid & s_tready;
    assign s_tready = ~rst & open & (~in_body | ((chosen & ~to_ready) == @{count}@'d0));
    assign to_valid = chosen & {@{count}@{s_tvalid & open & in_body}};
    assign to_beat = {s_tlast, s_tdata};
    always @(posedge clk) begin
        open <= ~rst;
        if (rst) in_body <= 1'b0;
        else if (taken) in_body <= ~s_tlast;
        if (~in_body) begin
{%- for k in numbers %}
            chosen[@{k}@] <= s_tdata[7:0] == 8'd@{k}@;
{%- endfor %}
        end
    end

    // From the engines: in turn, a packet at a time, behind a beat with the opcode of the packet and the engine's number.
    reg naming;
    reg passing;
    reg [@{count - 1}@:0] served;
    wire [@{count - 1}@:0] next;
{%- for (k, value) in next %}
    assign next[@{k}@] = @{value}@;
{%- endfor %}
    wire [@{stream_bits - 1}@:0] beat = @{beat}@;
    wire [7:0] number = @{number}@;
    wire last = |(served & from_last);
    assign m_tvalid = ~rst & (naming | (passing & (|(served & from_valid))));
    assign m_tdata = naming ? {@{padding}@beat[31:24], 16'd0, number} : beat;
    assign m_tlast = passing & last;
    assign from_ready = served & {@{count}@{passing & m_tready}};
    always @(posedge clk) begin
        if (rst) begin
            naming <= 1'b0;
            passing <= 1'b0;
            served <= @{count}@'d@{last_one}@;
        end else begin
            if (~naming & ~passing & (|from_valid)) begin
                naming <= 1'b1;
                served <= next;
            end else if (naming & m_tready) begin
                naming <= 1'b0;
                passing <= 1'b1;
            end else if (m_tvalid & m_tready & last) passing <= 1'b0;
        end
    end
