/* What the page says: numbers and outcomes as people read them, and elements that hold them. */

const OUTCOMES = {
    pool_exhausted: 'out of pool',
    nodes_exhausted: 'out of nodes',
    references_exhausted: 'out of references',
    out_of_memory: 'out of memory',
};

function outcomeText(outcome) {
    return OUTCOMES[outcome] || outcome.replaceAll('_', ' ');
}

function grouped(number) {
    return Math.round(number).toString().replace(/\B(?=(\d{3})+$)/g, ',');
}

function bytesText(bytes) {
    for (const [unit, size] of [['GiB', 2 ** 30], ['MiB', 2 ** 20], ['KiB', 2 ** 10]]) {
        if (bytes >= size) return (bytes / size).toPrecision(3) + ' ' + unit;
    }
    return bytes + ' B';
}

function factorText(factor) {
    return (factor < 10 ? factor.toFixed(2) : factor.toFixed(1)) + 'x';
}

function timeText(ms) {
    return ms < 10 ? ms.toFixed(3) : ms < 100 ? ms.toFixed(2) : ms.toFixed(1);
}

function percentText(part) {
    return (100 * part).toFixed(1) + ' %';
}

/* bunny for models/bunny.obj.xz. */
function stem(path) {
    return path.startsWith('gen:') ? path : path.split('/').pop().split('.obj')[0];
}

/* Children are text or elements; text is never read as HTML. */
function fill(parent, attributes, children) {
    for (const [key, value] of Object.entries(attributes)) {
        if (value !== null && value !== undefined) parent.setAttribute(key, value);
    }
    parent.append(...children);
    return parent;
}

function element(name, attributes = {}, ...children) {
    return fill(document.createElement(name), attributes, children);
}

function drawn(name, attributes = {}, ...children) {
    return fill(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, children);
}
