library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

package @{package}@ is
{%- for constant in constants %}
    constant @{constant.0}@ : natural := @{constant.1}@;
{%- endfor %}
    -- '1' where the condition holds.
    function logic(condition : boolean) return std_logic;
    -- a where c is '1', else b.
    function choose(c, a, b : std_logic) return std_logic;
    function choose(c : std_logic; a, b : unsigned) return unsigned;
    -- Copies side by side.
    function copies(a : std_logic; count : positive) return unsigned;
    function copies(a : unsigned; count : positive) return unsigned;
    -- A bit as a vector.
    function vector(a : std_logic) return unsigned;
    -- The number of a word; 0 in a simulator that does not know the bits yet.
    function index(a : std_logic) return natural;
    function index(a : unsigned) return natural;
    -- Shifts by any number of places.
    function moved_left(a, places : unsigned) return unsigned;
    function moved_right(a, places : unsigned) return unsigned;
    function moved_right_signed(a, places : unsigned) return unsigned;
end package;

package body @{package}@ is
    function logic(condition : boolean) return std_logic is
    begin
        if condition then
            return '1';
        end if;
        return '0';
    end function;

    function choose(c, a, b : std_logic) return std_logic is
    begin
        if c = '1' then
            return a;
        end if;
        return b;
    end function;

    function choose(c : std_logic; a, b : unsigned) return unsigned is
    begin
        if c = '1' then
            return a;
        end if;
        return b;
    end function;

    function copies(a : std_logic; count : positive) return unsigned is
        variable all_of_them : unsigned(count - 1 downto 0) := (others => a);
    begin
        return all_of_them;
    end function;

    function copies(a : unsigned; count : positive) return unsigned is
        variable all_of_them : unsigned(count * a'length - 1 downto 0);
    begin
        for k in 0 to count - 1 loop
            all_of_them((k + 1) * a'length - 1 downto k * a'length) := a;
        end loop;
        return all_of_them;
    end function;

    function vector(a : std_logic) return unsigned is
    begin
        return copies(a, 1);
    end function;

    function index(a : std_logic) return natural is
    begin
        if a = '1' then
            return 1;
        end if;
        return 0;
    end function;

    function index(a : unsigned) return natural is
    begin
        return to_integer(to_01(a));
    end function;

    -- At most the length: further places change nothing, and large numbers are no natural.
    function within(length : positive; places : unsigned) return natural is
    begin
        if to_01(places) >= length then
            return length;
        end if;
        return to_integer(to_01(places));
    end function;

    function moved_left(a, places : unsigned) return unsigned is
    begin
        return shift_left(a, within(a'length, places));
    end function;

    function moved_right(a, places : unsigned) return unsigned is
    begin
        return shift_right(a, within(a'length, places));
    end function;

    function moved_right_signed(a, places : unsigned) return unsigned is
    begin
        return unsigned(shift_right(signed(a), within(a'length, places)));
    end function;
end package body;
