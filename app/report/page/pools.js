/* Pictures of pools: a pixel a cell, addresses row by row from the upper left corner. */

const BLOCK_SIZES = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';
const MAP_COLUMNS = 64;
const FREE = {colour: [222, 228, 234], text: 'free'};
const OTHER = {colour: [120, 120, 120], text: 'no region'};

function sizeText(letter) {
    const bytes = 2 ** BLOCK_SIZES.indexOf(letter);
    const unit = Math.min(4, Math.floor(Math.log2(bytes) / 10));
    return `${bytes / 1024 ** unit} ${['B', 'KiB', 'MiB', 'GiB', 'TiB'][unit]}`;
}

/* The sizes of blocks that any of the pictures shows, in order. */
function lettersOf(pools) {
    const found = new Set(pools.flatMap(pool => pool.pictures.flatMap(one => [...one.blocks])));
    return [...BLOCK_SIZES].filter(letter => found.has(letter));
}

/* From dark violet for the smallest blocks to yellow for the largest. */
function blockColour(letter, letters) {
    const stops = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 200, 37]];
    const place = letters.length < 2 ? 0
        : letters.indexOf(letter) / (letters.length - 1) * (stops.length - 1);
    const [low, part] = [Math.min(Math.floor(place), stops.length - 2), place % 1];
    const share = place === stops.length - 1 ? 1 : part;
    return stops[low].map((value, i) => value + share * (stops[low + 1][i] - value));
}

/* A cell that blocks have in part is between their colour and that of free cells. */
function cellColour(block, fill, letters) {
    if (block === '.') return FREE.colour;
    if (block === '-') return OTHER.colour;
    const share = 0.3 + 0.7 * Number(fill) / 9;
    return blockColour(block, letters).map(
        (value, i) => Math.round(share * value + (1 - share) * FREE.colour[i]));
}

function cellText(block, fill) {
    if (block === '.') return FREE.text;
    if (block === '-') return OTHER.text;
    return `blocks from ${sizeText(block)}, about ${Math.round(100 * Number(fill) / 9)} % full`;
}

function paint(canvas, picture, letters) {
    const context = canvas.getContext('2d');
    const image = context.createImageData(canvas.width, canvas.height);
    [...picture.blocks].forEach((block, i) => {
        image.data.set([...cellColour(block, picture.fill[i], letters), 255], 4 * i);
    });
    context.putImageData(image, 0, 0);
    return canvas;
}

function poolPicture(title, picture, letters) {
    const columns = Math.min(MAP_COLUMNS, picture.blocks.length);
    const canvas = element('canvas', {
        width: columns, height: Math.ceil(picture.blocks.length / columns), role: 'img',
        'aria-label': `${title}, ${picture.name}: where blocks lie`,
    });
    canvas.addEventListener('pointermove', event => {
        const x = Math.floor(event.offsetX / canvas.clientWidth * columns);
        const y = Math.floor(event.offsetY / canvas.clientHeight * canvas.height);
        const i = y * columns + x;
        canvas.title = i < picture.blocks.length
            ? cellText(picture.blocks[i], picture.fill[i]) : '';
    });
    return element('figure', {}, paint(canvas, picture, letters),
                   element('figcaption', {}, picture.name));
}

function poolPanel(pool, letters) {
    return element('div', {class: 'panel'}, element('h3', {}, pool.title),
                   element('div', {class: 'pool'}, ...pool.pictures.map(
                       picture => poolPicture(pool.title, picture, letters))));
}

function poolLegend(letters) {
    const entry = (text, block) => element(
        'li', {}, paint(element('canvas', {width: 1, height: 1}), {blocks: block, fill: '9'}, letters),
        text);
    return element('ul', {class: 'legend'},
                   ...letters.map(letter => entry(`blocks from ${sizeText(letter)}`, letter)),
                   entry(FREE.text, '.'), entry(OTHER.text, '-'));
}
