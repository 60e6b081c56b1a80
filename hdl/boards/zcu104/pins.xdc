# AMD ZCU104, FFVC1156
set_property -dict {PACKAGE_PIN F23 IOSTANDARD LVDS} [get_ports clk_in]
set_property -dict {PACKAGE_PIN E23 IOSTANDARD LVDS} [get_ports clk_in_n]
create_clock -name clk_in -period 8.000 [get_ports clk_in]

# The names are the FPGA's: uart_rx comes from the FT4232H.
set_property -dict {PACKAGE_PIN A20 IOSTANDARD LVCMOS18 PULLUP true} [get_ports uart_rx]
set_property -dict {PACKAGE_PIN C19 IOSTANDARD LVCMOS18} [get_ports uart_tx]

# GPIO LEDs 0 to 2.
set_property -dict {PACKAGE_PIN D5 IOSTANDARD LVCMOS33} [get_ports led_busy]
set_property -dict {PACKAGE_PIN D6 IOSTANDARD LVCMOS33} [get_ports led_alive]
set_property -dict {PACKAGE_PIN A5 IOSTANDARD LVCMOS33} [get_ports led_error]

# Slow pins, behind registers or seen by eyes.
set_false_path -from [get_ports uart_rx]
set_false_path -to [get_ports {uart_tx led_busy led_alive led_error}]
