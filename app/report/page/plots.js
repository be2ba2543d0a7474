/* The plots, as SVG. No series is told by its colour alone. */

const MARKERS = [
    'M-3.2,0a3.2,3.2 0 1,0 6.4,0a3.2,3.2 0 1,0 -6.4,0', 'M-3,-3h6v6h-6z', 'M0,-3.8L3.6,2.8H-3.6z',
    'M0,-4L4,0L0,4L-4,0z', 'M0,3.8L3.6,-2.8H-3.6z',
    'M-1.2,-3.6h2.4v2.4h2.4v2.4h-2.4v2.4h-2.4v-2.4h-2.4v-2.4h2.4z',
    'M3.8,0L-2.8,3.6V-3.6z', 'M-3.8,0L2.8,3.6V-3.6z', 'M0,-4L3.8,-1.2L2.4,3.2H-2.4L-3.8,-1.2z',
];
const DASHES = ['none', '6 3', '6 2 1.5 2', '1.5 2.5'];

/* Seven colours, four dashes and nine markers: no two of the first 252 look alike. */
function lookOf(index, isReference) {
    if (isReference) return {colour: 'var(--ink)', dash: 'none', marker: MARKERS[0]};
    return {colour: `var(--s${index % 7})`, dash: DASHES[index % 4], marker: MARKERS[index % 9]};
}

/* Positions at least `gap` apart, in order and as near to those wanted as can be. */
function spread(wanted, gap, low, high) {
    const order = wanted.map((_, index) => index).sort((a, b) => wanted[a] - wanted[b]);
    const blocks = [];
    order.forEach((index, place) => {
        let block = {mean: wanted[index] - gap * place, size: 1};
        while (blocks.length && blocks.at(-1).mean >= block.mean) {
            const before = blocks.pop();
            const size = before.size + block.size;
            block = {mean: (before.mean * before.size + block.mean * block.size) / size, size};
        }
        blocks.push(block);
    });
    const settled = blocks.flatMap(block => Array(block.size).fill(block.mean));
    const last = Math.max(low, high - gap * (wanted.length - 1));
    const placed = Array(wanted.length);
    order.forEach((index, place) => {
        placed[index] = Math.min(Math.max(settled[place], low), last) + gap * place;
    });
    return placed;
}

/* Round numbers within the limits, a few of them: 1, 2 and 5 times powers of ten, or fewer; where
   these are too few, at equal distances. */
function ticks(low, high) {
    const power = 10 ** Math.floor(Math.log10((high - low) / 3));
    const step = power * [5, 2, 1].find(factor => factor * power <= (high - low) / 3);
    if (high / low < 4) {
        const [first, last] = [Math.ceil(low / step), Math.floor(high / step)];
        return Array.from({length: last - first + 1}, (_, place) => (first + place) * step);
    }
    for (const steps of [[1, 2, 5], [1, 3], [1]]) {
        const found = [];
        for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); ++power) {
            found.push(...steps.map(step => step * 10 ** power).filter(t => t >= low && t <= high));
        }
        if (found.length <= 7) return found;
    }
    return [low, high];
}

function logScale(low, high, from, to) {
    return value => from + (to - from) * Math.log(value / low) / Math.log(high / low);
}

function text(x, y, content, anchor = 'start', look = null) {
    return drawn('text', {x, y, 'text-anchor': anchor, class: look, 'dominant-baseline': 'central'},
                 content);
}

function segment(x1, y1, x2, y2, look) {
    return drawn('line', {x1, y1, x2, y2, class: look});
}

function panel(title, width, height, label, parts) {
    const box = `0 0 ${width} ${height}`;
    const image = drawn('svg', {viewBox: box, role: 'img', 'aria-label': label}, ...parts);
    return element('figure', {class: 'panel'}, element('h3', {}, title), image);
}

/* A row an entry: {name, value, text, best, full, word}. Bars begin at `base`; where there is none,
   points: on a logarithmic axis the length of a bar would mean nothing. */
function barPanel(title, entries, low, high, base, unit) {
    const left = 14 + 6.3 * Math.max(...entries.map(entry => entry.name.length));
    const [width, row, top] = [440, 17, 4];
    const bottom = top + row * entries.length;
    const x = logScale(low, high, left, width - 12);
    const origin = base === null ? left : x(base);
    const parts = ticks(low, high).flatMap(tick => [
        segment(x(tick), top, x(tick), bottom, 'grid'),
        text(x(tick), bottom + 10, Number(tick.toPrecision(6)) + unit, 'middle', 'small'),
    ]);
    entries.forEach((entry, place) => {
        const y = top + row * (place + 0.5);
        parts.push(text(left - 8, y, entry.name, 'end', entry.best ? 'bold' : null));
        if (entry.value === null) {
            parts.push(text(origin + 5, y, entry.word, 'start', 'word'));
            return;
        }
        const end = x(entry.value);
        const hint = drawn('title', {}, `${entry.name}: ${entry.text}`);
        const look = !entry.full ? 'bar partial' : entry.best ? 'bar best' : 'bar';
        if (base === null) {
            parts.push(segment(left, y, end, y, 'stem'),
                       drawn('circle', {cx: end, cy: y, r: 4.5, class: look}, hint));
        } else {
            parts.push(drawn('rect', {x: Math.min(origin, end), y: y - 6, height: 12, class: look,
                                      width: Math.max(Math.abs(end - origin), 0.5)}, hint));
        }
        parts.push(text(Math.max(end, origin) + 7, y, entry.text, 'start', 'small'));
    });
    parts.push(segment(origin, top, origin, bottom, 'axis'));
    return panel(title, width, bottom + 20, `${title}: a bar for each allocator`, parts);
}

/* Lines over logarithmic axes. lines: {name, look, points: [{x, y, hint}]};
   xTicks: {value, text}. */
function linePanel(title, lines, xTicks, xTitle, yTitle) {
    const points = lines.flatMap(line => line.points);
    const [width, left, top] = [440, 46, 10];
    const right = width - 30 - 6.3 * Math.max(...lines.map(line => line.name.length));
    const bottom = Math.max(190, 14 * lines.length + top);
    const [xs, ys] = [points.map(point => point.x), points.map(point => point.y)];
    const [lowest, highest] = [Math.min(...ys), Math.max(...ys)];
    const [low, high] = [lowest / 1.15, highest * 1.15];
    const x = logScale(Math.min(...xs) / 1.1, Math.max(...xs) * 1.1, left, right);
    const y = logScale(low, high, bottom, top);
    const parts = ticks(low, high).flatMap(tick => [
        segment(left, y(tick), right, y(tick), 'grid'),
        text(left - 5, y(tick), String(Number(tick.toPrecision(6))), 'end', 'small'),
    ]);
    for (const tick of xTicks) {
        parts.push(segment(x(tick.value), bottom, x(tick.value), bottom + 4, 'axis'),
                   text(x(tick.value), bottom + 12, tick.text, 'middle', 'small'));
    }
    parts.push(segment(left, bottom, right, bottom, 'axis'),
               segment(left, top, left, bottom, 'axis'),
               text((left + right) / 2, bottom + 27, xTitle, 'middle', 'small'),
               text(left - 5, top - 5, yTitle, 'end', 'small'));
    const places = spread(lines.map(line => y(line.points.at(-1).y)), 13, top, bottom);
    lines.forEach((line, index) => {
        const {colour, dash, marker} = line.look;
        const path = line.points.map(point => `${x(point.x)},${y(point.y)}`).join(' ');
        parts.push(drawn('polyline', {points: path, class: 'line', stroke: colour,
                                      'stroke-dasharray': dash}));
        const mark = (at, hint) => drawn(
            'path', {d: marker, fill: colour, transform: `translate(${at})`},
            drawn('title', {}, hint));
        parts.push(...line.points.map(p => mark(`${x(p.x)},${y(p.y)}`, p.hint)));
        const last = line.points.at(-1);
        const beside = `${right + 14},${places[index]}`;
        // Level as far as the axes go: a slanting line among the data would look like data.
        const leader = `${x(last.x)},${y(last.y)} ${right + 1},${y(last.y)} ${beside}`;
        parts.push(drawn('polyline', {points: leader, class: 'leader', stroke: colour}),
                   mark(beside, line.name),
                   text(right + 21, places[index], line.name));
    });
    return panel(title, width, bottom + 36, `${title}: a line for each row of the table`, parts);
}
