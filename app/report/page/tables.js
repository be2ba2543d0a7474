/* Tables whose rows are sorted by a click on a heading, or Enter on it. */

function compareValues(a, b) {
    return typeof a === 'string' ? a.localeCompare(b, 'en', {numeric: true}) : a - b;
}

/* table: {columns: {title, numbers}, rows}; a row has a cell {text, value, look, note} for each
   column, and the first one names the row. Numbers are sorted by value, null comes last; words by
   their text. */
function sortableTable(table) {
    const body = element('tbody');
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
    const made = table.rows.map(row => {
        const cells = row.map((entry, index) => {
            const looks = [table.columns[index].numbers ? 'number' : '', entry.look,
                           entry.text.length > 60 ? 'wide' : ''];
            const attributes = {class: looks.filter(Boolean).join(' ') || null,
                                title: entry.note || null};
            if (index > 0) return element('td', attributes, entry.text);
            return element('th', {scope: 'row', ...attributes}, entry.text);
        });
        const values = row.map((entry, index) => table.columns[index].numbers ? entry.value
                                                                              : entry.text);
        return {values, row: element('tr', {}, ...cells)};
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
                   element('table', {},
                           element('thead', {}, element('tr', {}, ...headings)), body));
}
