"""Pictures of measurements as SVG: panels with axes, lines, bands, dots, bars, and labels beside them.

A picture has its own ground, and colours for light and for dark pages. It is at most WIDTH pixels wide, so that a page
shows it at its size, and no text is smaller than TEXT pixels. Every axis has a label with its unit. Colours are numbers: 0 .. 7
of the palette, and GREY for what a picture compares with.
"""

import html
import math
import pathlib

WIDTH, TEXT = 830, 12
LETTER = 7  # pixels of an average letter
GREY = 8
LIGHT = ["#0b6bcb", "#c2410c", "#0f766e", "#7c3aed", "#b91c5c", "#a16207", "#4d7c0f", "#1c2128", "#98a1ac"]
DARK = ["#6cb2ff", "#ff9a5c", "#4fd1c5", "#b794ff", "#ff8ab8", "#e6c34a", "#a3e635", "#e8eaed", "#6b7480"]
INK = [("ground", "fill", "#ffffff", "#15181d"), ("ink", "fill", "#1c2128", "#e8eaed"), ("soft", "fill", "#5b6470", "#a3abb5"),
       ("grid", "stroke", "#e1e5ea", "#2b3139"), ("goal", "stroke", "#1a7f37", "#5fcf8a"), ("goalink", "fill", "#1a7f37", "#5fcf8a")]
POINTS_MAX = 160  # of a line
TOP = 52          # of what is below the title


def ticks(low, high, count=5):
    """About count round numbers from low to high."""
    raw = (high - low) / count
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * m for m in (1, 2, 2.5, 5, 10) if power * m >= raw)
    first = math.ceil(low / step - 1e-9)
    return [step * k for k in range(first, int(math.floor(high / step + 1e-9)) + 1)]


def powers(low, high):
    """The powers of ten from low to high, one in two or more if there are many."""
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    return [10.0 ** power for power in range(first, last + 1, 1 + (last - first) // 6)]


def short(value):
    """1500000 as "1.5 M"."""
    for unit, name in [(1e9, " G"), (1e6, " M"), (1e4, " k")]:
        if abs(value) >= unit:
            return f"{value / (1e3 if unit == 1e4 else unit):.4g}{name}"
    return f"{value:.4g}"


def thinned(points, most=POINTS_MAX):
    """At most that many of the points: equally many apart, and the last."""
    step = math.ceil(len(points) / most)
    return points[(len(points) - 1) % step::step]


def mean_and_spread(curves, count=120):
    """[(x, mean, low, high)] over curves of (x, y), the band one standard deviation with n - 1, cut at the least and the greatest y.
    A curve that has ended counts with its last value. The mean begins where every curve has begun."""
    first, last = max(c[0][0] for c in curves), max(c[-1][0] for c in curves)
    least, most = min(p[1] for c in curves for p in c), max(p[1] for c in curves for p in c)
    out = []
    for k in range(count + 1):
        x = first + (last - first) * k / count
        values = [value_at(curve, x) for curve in curves]
        mean = sum(values) / len(values)
        spread = math.sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1)) if len(values) > 1 else 0.0
        out.append((x, mean, max(least, mean - spread), min(most, mean + spread)))
    return out


def value_at(curve, x):
    """Of a curve of (x, y), on the straight line between two points; the last y after the last point."""
    for (x0, y0), (x1, y1) in zip(curve, curve[1:]):
        if x <= x1:
            return y0 + (y1 - y0) * (x - x0) / (x1 - x0) if x1 > x0 else y1
    return curve[-1][1]


class Axis:
    """Values low .. high. marks: its ticks, or [(value, text)]; words: writes a tick's value."""

    def __init__(self, low, high, label="", log=False, marks=None, words=short, count=5):
        self.low, self.high, self.label, self.log = low, high, label, log
        marks = (powers(low, high) if log else ticks(low, high, count)) if marks is None else marks
        self.marks = [mark if isinstance(mark, tuple) else (mark, words(mark)) for mark in marks]

    def share(self, value):
        if self.log:
            return math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def from_zero(values, label="", count=5, pad=0.05, **more):
    """The axis of values: from 0 unless one is below, else their range."""
    low, high = min(values), max(values)
    room = ((high - min(low, 0)) if low >= 0 else (high - low)) * pad or 1.0
    return Axis(0 if low >= 0 else low - room, high + room, label, count=count, **more)


class Picture:
    def __init__(self, height, title, note="", width=WIDTH):
        self.width, self.height = width, height
        self.out = []
        self.text(14, 26, title, size=16, weight=600)
        if note:
            self.text(14, 44, note, kind="soft")
        self.title = title

    def add(self, tag, **attributes):
        words = " ".join(f'{name.replace("_", "-")}="{value:.1f}"' if isinstance(value, float) else f'{name.replace("_", "-")}="{value}"'
                         for name, value in attributes.items() if value is not None)
        self.out.append(f"<{tag} {words}/>")

    def text(self, x, y, words, kind="ink", anchor="start", size=None, weight=None, turned=False):
        """kind: ink, soft, goalink, or a colour's number."""
        name = f"f{kind}" if isinstance(kind, int) else kind
        where = f'transform="translate({x:.1f} {y:.1f}) rotate(-90)"' if turned else f'x="{x:.1f}" y="{y:.1f}"'
        more = (f' font-size="{size}"' if size else "") + (f' font-weight="{weight}"' if weight else "") + (f' text-anchor="{anchor}"' if anchor != "start" else "")
        self.out.append(f'<text class="{name}" {where}{more}>{html.escape(str(words), quote=False)}</text>')

    def key(self, x, y, entries, gap=18):
        """entries: [(colour, words)], or (colour, words, mark) with "line", "dashed", "dot", "ring", "band" or "square", in one line, and more if there is no room."""
        left = x
        for colour, words, *mark in entries:
            mark = mark[0] if mark else "line"
            room = 28 + LETTER * len(words)
            if x > left and x + room > self.width - 10:
                x, y = left, y + gap
            self.mark(x, y - 4, colour, mark)
            self.text(x + 26, y, words)
            x += room + 16

    def mark(self, x, y, colour, mark):
        if mark in ("dot", "ring"):
            self.dot(x + 13, y, colour, is_hollow=mark == "ring")
        elif mark in ("square", "band"):
            self.add("rect", **{"class": f"f{colour}"}, x=x + 4, y=y - 6, width=18, height=12, fill_opacity="0.25" if mark == "band" else None)
        else:
            self.add("line", **{"class": "goal" if colour == "goal" else f"s{colour}"}, x1=x, y1=y, x2=x + 20, y2=y, stroke_width=2.5,
                     stroke_dasharray="5 3" if mark == "dashed" else None)

    def dot(self, x, y, colour, radius=3.5, is_hollow=False, opacity=None):
        name = f"s{colour} ground" if is_hollow else f"f{colour}"
        self.add("circle", **{"class": name}, cx=float(x), cy=float(y), r=float(radius), stroke_width=2 if is_hollow else None, fill_opacity=opacity)

    def panel(self, box, x, y, title=""):
        return Panel(self, box, x, y, title)

    def save(self, path):
        """Writes the picture. Only colours that it uses are in its style."""
        body = "\n".join(self.out)
        palette = [(f"{kind}{i}", what, LIGHT[i], DARK[i]) for i in range(len(LIGHT)) for kind, what in [("s", "stroke"), ("f", "fill")]]
        used = [row for row in [*palette, *INK] if f'"{row[0]}"' in body or f'"{row[0]} ' in body or f' {row[0]}"' in body or row[0] in ("ground", "ink")]
        light = " ".join(f".{name} {{ {what}: {colour} }}" for name, what, colour, _ in used)
        dark = " ".join(f".{name} {{ {what}: {colour} }}" for name, what, _, colour in used)
        head = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{self.height}" viewBox="0 0 {self.width} {self.height}" role="img" '
                f'font-family="system-ui, -apple-system, \'Segoe UI\', \'DejaVu Sans\', Helvetica, Arial, sans-serif" font-size="{TEXT}">\n'
                f"<title>{html.escape(self.title, quote=False)}</title>\n<style>\n{light}\n@media (prefers-color-scheme: dark) {{ {dark} }}\n</style>\n"
                f'<rect class="ground" width="{self.width}" height="{self.height}" rx="6"/>\n')
        pathlib.Path(path).write_text(head + body + "\n</svg>\n", encoding="utf-8")


class Panel:
    """A frame with axes. box: left, top, width and height of the frame itself, beside which the texts of the axes stand."""

    def __init__(self, picture, box, x, y, title=""):
        self.picture, self.x, self.y = picture, x, y
        self.left, self.top, self.width, self.height = box
        self.right, self.bottom = self.left + self.width, self.top + self.height
        if title:
            picture.text(self.left, self.top - 8, title, weight=600)
        for value, words in y.marks:
            py = self.at(0, value)[1]
            picture.add("line", **{"class": "grid"}, x1=self.left, y1=py, x2=self.right, y2=py)
            picture.text(self.left - 7, py + 4, words, kind="soft", anchor="end")
        for value, words in x.marks:
            px = self.at(value, 0)[0]
            picture.add("line", **{"class": "grid"}, x1=px, y1=self.top, x2=px, y2=self.bottom)
            picture.text(px, self.bottom + 16, words, kind="soft", anchor="middle")
        if x.label:
            picture.text(self.left + self.width / 2, self.bottom + 34, x.label, anchor="middle")
        if y.label:
            picture.text(self.left - 14 - LETTER * max((len(words) for _, words in y.marks), default=0), self.top + self.height / 2, y.label, anchor="middle", turned=True)

    def at(self, x, y):
        px = self.left + self.width * self.x.share(x) if self.x.log is False or x > 0 else self.left
        py = self.bottom - self.height * self.y.share(y) if self.y.log is False or y > 0 else self.bottom
        return px, py

    def places(self, points):
        return " ".join("{:.1f},{:.1f}".format(*self.at(x, y)) for x, y in points)

    def line(self, points, colour, width=2.0, dashes=None, opacity=None):
        name = "goal" if colour == "goal" else f"s{colour}"
        self.picture.add("polyline", **{"class": name}, points=self.places(points), fill="none", stroke_width=width, stroke_dasharray=dashes, stroke_opacity=opacity,
                         stroke_linejoin="round")

    def band(self, points, colour):
        """points: (x, low, high)."""
        around = [(x, high) for x, _, high in points] + [(x, low) for x, low, _ in reversed(points)]
        self.picture.add("polygon", **{"class": f"f{colour}"}, points=self.places(around), fill_opacity="0.18")

    def dot(self, x, y, colour, **more):
        self.picture.dot(*self.at(x, y), colour, **more)

    def curves(self, curves, colour):
        """Curves of seeds, thin; their mean, thick; and one standard deviation, as a band."""
        spread = mean_and_spread(curves)
        if len(curves) > 1:
            self.band([(x, low, high) for x, _, low, high in spread], colour)
            for curve in curves:
                self.line(thinned(curve), colour, width=0.8, opacity=0.45)
        self.line([(x, mean) for x, mean, _, _ in spread] if len(curves) > 1 else thinned(curves[0]), colour)
        return spread[-1][1] if len(curves) > 1 else curves[0][-1][1]

    def across(self, y, words="", kind="goal"):
        """A dashed line at y, with words above its beginning."""
        self.line([(self.x.low, y), (self.x.high, y)], kind, width=1.5, dashes="6 4")
        if words:
            self.picture.text(self.left + 5, self.at(0, y)[1] - 5, words, kind="goalink" if kind == "goal" else kind)

    def beside(self, labels, gap=TEXT + 3):
        """labels: [(y, words, colour)], right of the frame at their heights, apart from each other."""
        ends = sorted((self.at(0, y)[1], words, colour) for y, words, colour in labels)
        for py, (_, words, colour) in zip(apart([end[0] for end in ends], gap, self.top + 4, self.bottom), ends):
            self.picture.text(self.right + 8, py + 4, words, kind=colour, weight=600)


    def names(self, dots, radius=4):
        """dots: [(x, y, words)]. Each name stands beside its dot, where it covers neither another name nor a dot, within the frame."""
        at = [self.at(x, y) for x, y, _ in dots]
        taken = [(px - radius, py - radius, px + radius, py + radius) for px, py in at]
        for (px, py), (_, _, words) in zip(at, dots):
            length = LETTER * len(words)
            for dx, dy in ((8, 4), (-8 - length, 4), (6, -8), (6, 17), (-6 - length, -8), (-6 - length, 17), (-length / 2, -10), (-length / 2, 19),
                           (10, -20), (10, 29), (-10 - length, -20), (-10 - length, 29)):
                box = (px + dx, py + dy - TEXT, px + dx + length, py + dy + 2)
                is_inside = box[0] > self.left and box[2] < self.right and box[1] > self.top and box[3] < self.bottom
                if is_inside and not any(box[0] < b[2] and b[0] < box[2] and box[1] < b[3] and b[1] < box[3] for b in taken):
                    break
            taken.append(box)
            self.picture.text(px + dx, py + dy, words)


def apart(places, gap, first, last):
    """Sorted places, moved so that they are at least gap apart, within first .. last if there is room."""
    at = [max(place, first) for place in places]
    for i in range(1, len(at)):
        at[i] = max(at[i], at[i - 1] + gap)
    for i in reversed(range(len(at))):
        at[i] = min(at[i], last - gap * (len(at) - 1 - i))
    return at
