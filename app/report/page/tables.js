/* Tables whose rows are sorted by a click on a heading, or Enter on it. */

/* A cell: what it shows, and what it is sorted by; null comes last either way. */
function cell(text, value, look = '', title = null) {
    return {text, value, look, title};
}

function known(value, text) {
    return value === null || value === undefined ? cell('–', null) : cell(text(value), value);
}

function words(text) {
    return cell(text, text);
}

function compareValues(a, b) {
    return typeof a === 'string' ? a.localeCompare(b, 'en', {numeric: true}) : a - b;
}

/* columns: {title, number, hint}; rows: arrays of as many cells, the first one names the row. */
function sortableTable(caption, columns, rows) {
    const body = element('tbody');
    const headings = columns.map((column, index) => {
        const button = element('button', {type: 'button', title: column.hint}, column.title);
        const look = column.number ? 'number' : null;
        const heading = element('th', {scope: 'col', class: look}, button);
        button.addEventListener('click', () => {
            const ascending = heading.getAttribute('aria-sort') !== 'ascending';
            headings.forEach(other => other.removeAttribute('aria-sort'));
            heading.setAttribute('aria-sort', ascending ? 'ascending' : 'descending');
            sort(index, ascending ? 1 : -1);
        });
        return heading;
    });
    const made = rows.map(row => {
        const cells = row.map((entry, index) => {
            const look = [columns[index].number ? 'number' : '', columns[index].wide ? 'wide' : '',
                          entry.look].join(' ').trim();
            const attributes = {class: look || null, title: entry.title};
            if (index > 0) return element('td', attributes, entry.text);
            return element('th', {scope: 'row', ...attributes}, entry.text);
        });
        return {values: row.map(entry => entry.value), row: element('tr', {}, ...cells)};
    });
    function sort(index, direction) {
        const ordered = made.slice().sort((one, other) => {
            const [a, b] = [one.values[index], other.values[index]];
            if (a === null || b === null) return (a === null) - (b === null);
            return direction * compareValues(a, b);
        });
        body.append(...ordered.map(entry => entry.row));
    }
    body.append(...made.map(entry => entry.row));
    return element('div', {class: 'scroll'},
                   element('table', {}, element('caption', {}, caption),
                           element('thead', {}, element('tr', {}, ...headings)), body));
}
