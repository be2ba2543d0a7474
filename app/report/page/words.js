/* Elements, and numbers as people read them. */

function grouped(number) {
    if (!Number.isInteger(number)) return String(number);
    return String(number).replace(/\B(?=(\d{3})+$)/g, ',');
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
