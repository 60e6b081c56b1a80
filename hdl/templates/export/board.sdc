# @{made}@: the oscillator of the board @{board.name}@, and slow pins, behind registers or seen by eyes.
create_clock -name clk_in -period @{period}@ [get_ports {clk_in}]
derive_pll_clocks
derive_clock_uncertainty
set_false_path -from [get_ports {uart_rx}] -to *
set_false_path -from * -to [get_ports {uart_tx led_*}]
