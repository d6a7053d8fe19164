/*
 * table_number.c - times, shares and counts as people read them. Integers only.
 */
#include "export/table.h"

__extension__ typedef __int128 wide;

static const struct {
    const char *name;
    int64_t ns;
} units[] = {{"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};

#define N_UNITS (sizeof units / sizeof units[0])
#define MOST_DIGITS 10000 /* four significant digits lie below */

/* Rounded half up; ns >= 0. */
static int64_t divide(int64_t ns, int64_t by)
{
    return ns / by + (ns % by >= by - by / 2);
}

static int64_t power_of_ten(int exponent)
{
    int64_t power = 1;
    while (exponent-- > 0)
        power *= 10;
    return power;
}

static void add_fixed(struct marey_textbuf *out, int64_t value, int decimals, const char *suffix)
{
    const int64_t scale = power_of_ten(decimals);
    marey__text_add_i64(out, value / scale);
    if (decimals > 0)
        marey__text_add_format(out, ".%0*lld", decimals, (long long)(value % scale));
    marey__text_add_c(out, suffix);
}

/* The first unit and number of decimals in which the rounded value has at most four digits. */
static void add_short(struct marey_textbuf *out, int64_t ns)
{
    for (size_t unit = 0; unit < N_UNITS; unit++) {
        for (int decimals = 3; decimals > 0; decimals--) {
            const int64_t rounded = divide(ns, units[unit].ns / power_of_ten(decimals));
            if (rounded < MOST_DIGITS) {
                add_fixed(out, rounded, decimals, units[unit].name);
                return;
            }
        }
    }
    add_fixed(out, divide(ns, units[N_UNITS - 1].ns), 0, units[N_UNITS - 1].name);
}

/* The first unit in which the value, rounded to three decimals, is below 1000. */
static void add_three(struct marey_textbuf *out, int64_t ns)
{
    size_t unit = 0;
    while (unit + 1 < N_UNITS && divide(ns, units[unit].ns / 1000) >= 1000 * 1000)
        unit++;
    add_fixed(out, divide(ns, units[unit].ns / 1000), 3, units[unit].name);
}

void marey__add_time(struct marey_textbuf *out, int64_t ns, enum marey_time_unit unit,
                     bool three_decimals)
{
    if (ns < 0) {
        marey__text_add_byte(out, '-');
        ns = ns == INT64_MIN ? INT64_MAX : -ns;
    }
    if (unit != MAREY_TIME_AUTO) {
        const size_t fixed = (size_t)unit - 1;
        add_fixed(out, divide(ns, units[fixed].ns / 1000), 3, units[fixed].name);
    } else if (three_decimals) {
        add_three(out, ns);
    } else {
        add_short(out, ns);
    }
}

bool marey__add_percent(struct marey_textbuf *out, int64_t part, int64_t whole, int decimals)
{
    if (part == MAREY_UNKNOWN || whole == MAREY_UNKNOWN || whole <= 0 || part < 0)
        return false;
    const wide scaled = (wide)part * 100 * power_of_ten(decimals);
    const wide rounded = (scaled + whole / 2) / whole;
    add_fixed(out, rounded > INT64_MAX ? INT64_MAX : (int64_t)rounded, decimals, "");
    return true;
}

void marey__add_grouped(struct marey_textbuf *out, uint64_t value)
{
    char digits[32];
    const size_t len = marey__format_u64(digits, value);
    for (size_t i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            marey__text_add_byte(out, ',');
        marey__text_add_byte(out, digits[i]);
    }
}
