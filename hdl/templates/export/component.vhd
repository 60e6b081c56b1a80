-- @{common.made}@: the Verilog module @{common.top}@ as a component of VHDL.
library ieee;
use ieee.std_logic_1164.all;

package @{package}@ is
    component @{component}@ is
        port (
{%- for pin in common.pins %}
            @{pin.name}@ : @{pin.vhdl()}@{% if !loop.last %};{% endif %}
{%- endfor %}
        );
    end component;
end package;

library ieee;
use ieee.std_logic_1164.all;
use work.@{package}@.all;

-- The engine as an entity, for tools that instantiate entities alone.
entity @{entity}@ is
    port (
{%- for pin in common.pins %}
        @{pin.name}@ : @{pin.vhdl()}@{% if !loop.last %};{% endif %}
{%- endfor %}
    );
end entity;

architecture wrapper of @{entity}@ is
begin
    engine : @{component}@
        port map (
{%- for pin in common.pins %}
            @{pin.name}@ => @{pin.name}@{% if !loop.last %},{% endif %}
{%- endfor %}
        );
end architecture;
