    // Sends what leaves the engine: the results of the lane groups, a packet at a time, and the answers to STATUS{% if ident.is_empty() %} and END{% else %}, END and IDENT{% endif %},
    // once all is quiet. Counts.
    localparam [7:0] STATUS = 8'h@{status_reply}@;
    localparam [7:0] END    = 8'h@{end_reply}@;

    // The result packet on its way.
    reg answering;
    wire takes;                       // a word can leave
{%- if groups == 1 %}
    wire result_valid = q_valid;
    wire result_last = q_last;
    wire [@{stream_bits - 1}@:0] result_data = q_data;
    wire waiting = 1'b0;
    assign q_ready = takes & ~answering;
{%- else %}
    // Lane groups send in turn: behind a packet the next group in the circle that has one.
    reg waiting;                      // a group has the turn
    reg [@{groups - 1}@:0] turn;
    reg [@{groups - 1}@:0] behind;    // the groups behind it
    wire result_valid = waiting & ((q_valid & turn) != @{groups}@'d0);
    wire result_last = (q_last & turn) != @{groups}@'d0;
    wire leaves = result_valid & takes & result_last;
    wire [@{groups - 1}@:0] wanting = q_valid & ~(turn & {@{groups}@{waiting}});
    wire [@{groups - 1}@:0] later = wanting & behind;
    wire [@{groups - 1}@:0] circle = (later != @{groups}@'d0) ? later : wanting;
    wire [@{groups - 1}@:0] next = circle & (~circle + @{groups}@'d1);
    wire [@{stream_bits - 1}@:0] result_data =
{%- for k in 0..groups %}
        {% if !loop.first %}| {% endif %}(q_data[@{stream_bits * k + stream_bits - 1}@:@{stream_bits * k}@] & {@{stream_bits}@{turn[@{k}@]}}){% if loop.last %};{% endif %}
{%- endfor %}
    assign q_ready = turn & {@{groups}@{waiting & takes}};
    always @(posedge clk) begin
        if (rst) waiting <= 1'b0;
        else if (~waiting | leaves) waiting <= wanting != @{groups}@'d0;
        // What comes first looks at both before any group has had the turn.
        if (rst) begin
            turn <= @{groups}@'d0;
            behind <= @{groups}@'d0;
        end else if ((~waiting | leaves) & (wanting != @{groups}@'d0)) begin
            turn <= next;
            behind <= ~(next | (next - @{groups}@'d1));
        end
    end
{%- endif %}

    // The answer, beat by beat. The decoder waits until it has left, so that nothing in it changes meanwhile.
    reg [@{at_bits - 1}@:0] at;
    reg [@{stream_bits - 1}@:0] answer;
{%- if ident.is_empty() %}
    wire answer_last = reply_end | (at == @{at_bits}@'d@{status_beats - 1}@);
{%- else %}
    wire answer_last = reply_end | (at == (reply_ident ? @{at_bits}@'d@{ident.len() - 1}@ : @{at_bits}@'d@{status_beats - 1}@));
    // What the engine is, beat by beat.
    reg [@{stream_bits - 1}@:0] identity;
    always @* begin
        case (at)
{%- for beat in ident %}{% if !loop.first %}
            @{at_bits}@'d@{loop.index0}@: identity = @{beat}@;
{%- endif %}{% endfor %}
            default: identity = @{ident[0]}@;
        endcase
    end
{%- endif %}
    reg [63:0] cycle_count;
    reg [63:0] busy_count;
{%- if all_lanes == 1 %}
    wire [63:0] pair_count = busy_count;
{%- else %}
    reg [63:0] pair_count;
{%- endif %}
    wire [@{32 * answer_words - 1}@:0] status = {@{fill}@pair_count, busy_count, cycle_count, STATUS, 23'd0, protocol_error};
    always @* begin
{%- if !ident.is_empty() %}
        if (reply_ident) answer = identity;
        else
{%- endif %}
        case (at)
{%- for k in 1..status_beats %}
            @{at_bits}@'d@{k}@: answer = status[@{stream_bits * k + stream_bits - 1}@:@{stream_bits * k}@];
{%- endfor %}
            default: answer = reply_end ? {@{end_fill}@END, 24'd0} : status[@{stream_bits - 1}@:0];
        endcase
    end
{%- if pipelines > 0 %}
    // A run may leave sums in the lanes, and its pairs wait in the queues: they are counted before an answer is made.
    wire still = quiet & drained;
{%- endif %}
    assign replied = answering & takes & answer_last;
    always @(posedge clk) begin
        if (rst) answering <= 1'b0;
        else answering <= answering ? ~replied : (reply & @{still}@ & ~waiting{% if spread %} & ~m_tvalid{% endif %});
        if (~answering) at <= @{at_bits}@'d0;
        else if (takes) at <= at + @{at_bits}@'d1;
    end
    wire out_valid = answering | result_valid;
    wire out_last = answering ? answer_last : result_last;
    wire [@{stream_bits - 1}@:0] out_data = answering ? answer : result_data;
{%- if spread %}
    // Whether it is a result travels with a word; the last one has left before an answer is made.
    wire m_result;
    @{prefix}@_relay_@{stream_bits + 2}@ outside (
        .clk(clk),
        .rst(rst),
        .wdata({~answering, out_last, out_data}),
        .push(out_valid),
        .ready(takes),
        .rdata({m_result, m_tlast, m_tdata}),
        .valid(m_tvalid),
        .pop(m_tready)
    );
{%- else %}
    assign takes = m_tready;
    assign m_tvalid = out_valid;
    assign m_tlast = out_last;
    assign m_tdata = out_data;
    wire m_result = result_valid;
{%- endif %}

    // From the first word of targets to the last word of results.
    reg counting;
    reg [63:0] clocks;
    reg clearing;
    reg target_came;
    reg result_left;
    always @(posedge clk) begin
        clearing <= rst | clear;
        target_came <= first_target & ~rst;
        // No result leaves while an answer is made.
        result_left <= m_result & m_tvalid & m_tready & m_tlast & ~answering;
    end
    always @(posedge clk) begin
        if (clearing) begin
            counting <= 1'b0;
            clocks <= 64'd0;
            cycle_count <= 64'd0;
        end else begin
            if (target_came) counting <= 1'b1;
            if (counting | target_came) clocks <= clocks + 64'd1;
            if (result_left) cycle_count <= clocks + 64'd1;
        end
    end

    // {% if pipelines > 0 %}Pairs that the pipelines took{% else %}Cycles with a pair{% endif %}, and occupied lanes times sources{% if groups > 1 %}, over all lane groups{% endif %}.
{%- if pipelines > 0 %}
    reg [@{pipelines - 1}@:0] taking;
    reg [@{pipeline_bits - 1}@:0] taken;
    always @(posedge clk) begin
        taking <= l_passed;
        taken <= {% for k in 0..pipelines %}{% if !loop.first %}
            + {% endif %}{{% if pipeline_bits > 1 %}@{pipeline_bits - 1}@'d0, {% endif %}taking[@{k}@]}{% endfor %};
        if (clearing) busy_count <= 64'd0;
        else busy_count <= busy_count + {@{64 - pipeline_bits}@'d0, taken};
    end
{%- endif %}
{%- if groups > 1 %}
{%- if pipelines == 0 %}
    reg [@{group_bits - 1}@:0] groups_now;
{%- endif %}
    reg [@{all_bits - 1}@:0] lanes_now;
    always @(posedge clk) begin
{%- if pipelines == 0 %}
        groups_now <= {% for k in 0..groups %}{% if !loop.first %}
            + {% endif %}{@{group_bits - 1}@'d0, count_valid[@{k}@]}{% endfor %};
{%- endif %}
        lanes_now <= {% for k in 0..groups %}{% if !loop.first %}
            + {% endif %}{@{all_bits - n_bits}@'d0, count_lanes[@{n_bits * k + n_bits - 1}@:@{n_bits * k}@] & {@{n_bits}@{count_valid[@{k}@]}}}{% endfor %};
    end
    always @(posedge clk) begin
        if (clearing) begin
{%- if pipelines == 0 %}
            busy_count <= 64'd0;
{%- endif %}
            pair_count <= 64'd0;
        end else begin
{%- if pipelines == 0 %}
            busy_count <= busy_count + {@{64 - group_bits}@'d0, groups_now};
{%- endif %}
            pair_count <= pair_count + {@{64 - all_bits}@'d0, lanes_now};
        end
    end
{%- else if all_lanes == 1 %}
    always @(posedge clk) begin
        if (clearing) busy_count <= 64'd0;
        else if (count_valid) busy_count <= busy_count + 64'd1;
    end
    wire unused = &{1'b0, count_lanes};
{%- else %}
    always @(posedge clk) begin
        if (clearing) begin
{%- if pipelines == 0 %}
            busy_count <= 64'd0;
{%- endif %}
            pair_count <= 64'd0;
        end else if (count_valid) begin
{%- if pipelines == 0 %}
            busy_count <= busy_count + 64'd1;
{%- endif %}
            pair_count <= pair_count + {@{64 - n_bits}@'d0, count_lanes};
        end
    end
{%- endif %}
{% include "formal/reply.v" %}
