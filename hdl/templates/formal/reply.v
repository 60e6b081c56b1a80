
`ifdef FORMAL
    // What is proved of the engine's output: a beat that is offered stays, valid and unchanged, until it is taken. Assumed
    // is what the blocks in front keep to: queues offer their words in the same way (proved of them), nothing moves while
    // all is quiet, and whoever asks for an answer waits for it.
    reg started;
    initial started = 1'b0;
    always @(posedge clk) started <= 1'b1;

    reg [@{groups - 1}@:0] was_offered;
    reg [@{groups * stream_bits - 1}@:0] was_data;
    reg [@{groups - 1}@:0] was_last;
    reg was_asked;
    reg was_asked_quiet;
    reg was_end;
    reg was_error;
{%- if !ident.is_empty() %}
    reg was_ident;
    always @(posedge clk) was_ident <= reply_ident;
{%- endif %}
    reg was_target;
    reg was_held;
    reg [@{stream_bits}@:0] was_beat;
    always @(posedge clk) begin
        was_offered <= q_valid & ~q_ready & {@{groups}@{~rst}};
        was_data <= q_data;
        was_last <= q_last;
        was_asked <= reply & ~replied & ~rst;
        was_asked_quiet <= reply & @{still}@ & ~replied & ~rst;
        was_end <= reply_end;
        was_error <= protocol_error;
        was_target <= first_target;
        was_held <= m_tvalid & ~m_tready & ~rst;
        was_beat <= {m_tlast, m_tdata};
    end
{%- if pipelines > 0 %}
    // A lane is idle only when the last pair that it took has left its pipeline, which takes longer than counting it.
    reg [3:0] was_passed;
    always @(posedge clk) was_passed <= {was_passed[2:0], |l_passed};
    always @(*) if (@{still}@) assume (l_passed == @{pipelines}@'d0 && was_passed == 4'd0);
{%- endif %}
    integer k;
    always @(*) begin
        if (!started) assume (rst);
        if (started && !rst) for (k = 0; k < @{groups}@; k = k + 1)
            if (was_offered[k])
                assume (q_valid[k] && q_last[k] == was_last[k] && q_data[@{stream_bits}@ * k +: @{stream_bits}@] == was_data[@{stream_bits}@ * k +: @{stream_bits}@]);
        if (@{still}@) assume (q_valid == @{groups}@'d0 && count_valid == @{groups}@'d0);
        if (started && was_asked && !rst) assume (reply && reply_end == was_end && protocol_error == was_error);
{%- if !ident.is_empty() %}
        if (started && was_asked && !rst) assume (reply_ident == was_ident);
{%- endif %}
        if (started && was_asked_quiet && !rst) assume (@{still}@);
        if (reply) assume (!first_target && !was_target);
        if (clear) assume (replied);
    end

    always @(*) if (started) begin
        if (was_held && !rst) assert (m_tvalid && {m_tlast, m_tdata} == was_beat);
        if (answering && !rst) assert (was_asked && was_asked_quiet && !clearing && !result_left && !target_came);
{%- if groups > 1 %}
        if (waiting) assert (turn != @{groups}@'d0 && (turn & (turn - @{groups}@'d1)) == @{groups}@'d0);
        if (answering) assert (!waiting);
        if (answering && !rst) assert ({% if pipelines == 0 %}groups_now == @{group_bits}@'d0 && {% endif %}lanes_now == @{all_bits}@'d0);
{%- endif %}
    end

    // Reached states, so that the proof is not about nothing.
    always @(posedge clk) if (started && !rst) begin
        cover (was_held && m_tready && !answering);
        cover (was_held && m_tready && m_tlast && !m_result);
    end
`endif
