# Terasic DE10-Nano, 5CSEBA6U23I7
set_location_assignment PIN_V11 -to clk_in
set_instance_assignment -name IO_STANDARD "3.3-V LVTTL" -to clk_in

# The Arduino header's pins 0 and 1.
set_location_assignment PIN_AG13 -to uart_rx
set_instance_assignment -name IO_STANDARD "3.3-V LVTTL" -to uart_rx
set_instance_assignment -name WEAK_PULL_UP_RESISTOR ON -to uart_rx
set_location_assignment PIN_AF13 -to uart_tx
set_instance_assignment -name IO_STANDARD "3.3-V LVTTL" -to uart_tx

# LED0 to LED2.
set_location_assignment PIN_W15 -to led_busy
set_instance_assignment -name IO_STANDARD "3.3-V LVTTL" -to led_busy
set_location_assignment PIN_AA24 -to led_alive
set_instance_assignment -name IO_STANDARD "3.3-V LVTTL" -to led_alive
set_location_assignment PIN_V16 -to led_error
set_instance_assignment -name IO_STANDARD "3.3-V LVTTL" -to led_error
