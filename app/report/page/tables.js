/* Tables whose rows are sorted by a click on a heading, or Enter on it. */

function compareValues(a, b) {
    return typeof a === 'string' ? a.localeCompare(b, 'en', {numeric: true}) : a - b;
}

/* Columns of a table on paper: of wider ones there, the first column stands before the others in turn. */
const PAPER_COLUMNS = 12;

/* The columns of a table's parts on paper, by number; of a table that fits, none. */
function paperParts(columns) {
    const parts = [];
    if (columns <= PAPER_COLUMNS) return parts;
    for (let first = 1; first < columns; first += PAPER_COLUMNS - 1) {
        const last = Math.min(first + PAPER_COLUMNS - 1, columns);
        parts.push([0, ...Array.from({length: last - first}, (_, place) => first + place)]);
    }
    return parts;
}

/* Shows by a mark whether columns lie to the right of what is seen. */
function framed(table) {
    const scroll = element('div', {class: 'scroll'}, table);
    const frame = element('div', {class: 'frame'}, scroll);
    const mark = () => frame.classList.toggle(
        'cut', scroll.scrollLeft + scroll.clientWidth < scroll.scrollWidth - 1);
    scroll.addEventListener('scroll', mark);
    new ResizeObserver(mark).observe(scroll);
    return frame;
}

/* table: {columns: {title, numbers}, rows}; a row has a cell {text, value, look, note} for each
   column, and the first one names the row. Numbers are sorted by value, null comes last; words by
   their text. */
function sortableTable(table) {
    const headings = table.columns.map((column, index) => {
        const button = element('button', {type: 'button'}, column.title);
        const look = column.numbers ? 'number' : null;
        const heading = element('th', {scope: 'col', class: look}, button);
        button.addEventListener('click', () => {
            const ascending = heading.getAttribute('aria-sort') !== 'ascending';
            headings.forEach(other => other.removeAttribute('aria-sort'));
            heading.setAttribute('aria-sort', ascending ? 'ascending' : 'descending');
            sort(index, ascending ? 1 : -1);
        });
        return heading;
    });
    function cell(entry, index) {
        const looks = [table.columns[index].numbers ? 'number' : '', entry.look,
                       entry.text.length > 60 ? 'wide' : ''];
        const attributes = {class: looks.filter(Boolean).join(' ') || null,
                            title: entry.note || null};
        if (index > 0) return element('td', attributes, entry.text);
        return element('th', {scope: 'row', ...attributes}, entry.text);
    }
    const whole = [...table.columns.keys()];
    const parts = [whole, ...paperParts(table.columns.length)];
    const bodies = parts.map(() => element('tbody'));
    const made = table.rows.map(row => ({
        values: row.map((entry, index) => table.columns[index].numbers ? entry.value : entry.text),
        rows: parts.map(part => element('tr', {}, ...part.map(index => cell(row[index], index)))),
    }));
    function show(entries) {
        bodies.forEach((body, part) => body.append(...entries.map(entry => entry.rows[part])));
    }
    function sort(index, direction) {
        show(made.slice().sort((one, other) => {
            const [a, b] = [one.values[index], other.values[index]];
            if (a === null || b === null) return (a === null) - (b === null);
            return direction * compareValues(a, b);
        }));
    }
    show(made);
    const tables = parts.map((part, number) => element(
        'table', {},
        element('thead', {}, element('tr', {}, ...part.map(
            index => number === 0 ? headings[index] : headings[index].cloneNode(true)))),
        bodies[number]));
    const frame = framed(tables[0]);
    if (parts.length === 1) return frame;
    return element('div', {class: 'in-parts'}, frame,
                   element('div', {class: 'paper'}, ...tables.slice(1)));
}
