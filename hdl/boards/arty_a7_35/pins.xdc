# Digilent Arty A7-35T, CSG324
set_property -dict {PACKAGE_PIN E3 IOSTANDARD LVCMOS33} [get_ports clk_in]
create_clock -name clk_in -period 10.000 [get_ports clk_in]

# The names are the FPGA's: uart_rx comes from the FT2232H.
set_property -dict {PACKAGE_PIN A9 IOSTANDARD LVCMOS33 PULLUP true} [get_ports uart_rx]
set_property -dict {PACKAGE_PIN D10 IOSTANDARD LVCMOS33} [get_ports uart_tx]

# LD4 to LD6.
set_property -dict {PACKAGE_PIN H5 IOSTANDARD LVCMOS33} [get_ports led_busy]
set_property -dict {PACKAGE_PIN J5 IOSTANDARD LVCMOS33} [get_ports led_alive]
set_property -dict {PACKAGE_PIN T9 IOSTANDARD LVCMOS33} [get_ports led_error]

# Slow pins, behind registers or seen by eyes.
set_false_path -from [get_ports uart_rx]
set_false_path -to [get_ports {uart_tx led_busy led_alive led_error}]

set_property CFGBVS VCCO [current_design]
set_property CONFIG_VOLTAGE 3.3 [current_design]
