/* The page: the embedded document, table by table with its plots. */

const SHOWN = JSON.parse(document.getElementById('results').textContent);
const PROVENANCE = SHOWN.data.provenance || {};

/* A section, which the contents at the top lead to. */
function section(title, ...contents) {
    const name = title.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '');
    let id = name;
    for (let number = 2; document.getElementById(id); ++number) id = `${name}-${number}`;
    document.getElementById('contents').append(element('a', {href: '#' + id}, title), ' ');
    document.getElementById('main').append(element('section', {id},
                                                   element('h2', {}, title), ...contents));
}

/* Bars of one table have one scale, where they begin at the same figure. */
function bars(plot, siblings) {
    const values = plots => plots.flatMap(
        one => one.lines.flatMap(line => line.points.map(point => point.y)));
    const all = values(plot.base === null ? [plot] : siblings);
    if (!all.length) return element('p', {class: 'note'}, `${plot.title}: nothing was done.`);
    const low = plot.base === null ? Math.min(...all) / 1.5 : Math.min(0.8 * plot.base, ...all);
    const high = Math.max(2 * (plot.base || 0), low * 2, ...all) * 1.9;
    const entries = plot.lines.map(line => ({
        name: line.name, full: !line.partial, best: line.strong, word: line.word,
        value: line.points.length ? line.points[0].y : null,
        text: line.points.length ? line.points[0].text.split(', ')[0] : '',
    }));
    return barPanel(plot.title, entries, low, high, plot.base, plot.y);
}

/* A tick for each place where there are points, unless there are too many. */
function places(lines) {
    const found = [];
    const all = lines.flatMap(line => line.points.map(point => point.x)).sort((a, b) => b - a);
    for (const x of all) if (!found.length || x < found.at(-1) / 1.05) found.push(x);
    const chosen = found.length <= 8 ? found : ticks(found.at(-1), found[0]);
    return chosen.map(value => ({value, text: grouped(Number(value.toPrecision(3)))}));
}

function lines(plot) {
    const drawnLines = plot.lines.filter(line => line.points.length).map((line, index) => ({
        name: line.name,
        look: lookOf(index, line.name.startsWith('atomicmalloc')),
        points: line.points.map(p => ({x: p.x, y: p.y, hint: `${line.name}, ${p.text}`}))
            .sort((a, b) => a.x - b.x),
    }));
    if (!drawnLines.length) return element('p', {class: 'note'}, `${plot.title}: nothing was done.`);
    return linePanel(plot.title, drawnLines, places(drawnLines), plot.x, plot.y);
}

function plotsOf(table) {
    const plots = SHOWN.plots.filter(plot => plot.table === table.title);
    if (!plots.length) return [];
    const siblings = plots.filter(plot => plot.x === '');
    return [element('div', {class: 'panels'}, ...plots.map(
        plot => plot.x === '' ? bars(plot, siblings) : lines(plot)))];
}

function poolsOf(table) {
    const pools = SHOWN.pools.filter(pool => pool.table === table.title);
    if (!pools.length) return [];
    const letters = lettersOf(pools);
    return [poolLegend(letters), element('div', {class: 'panels'},
                                         ...pools.map(pool => poolPanel(pool, letters)))];
}

function provenance() {
    const list = element('dl');
    const add = (key, value) => {
        if (value === null || value === '') return;
        if (typeof value === 'object' && !Array.isArray(value)) {
            Object.entries(value).forEach(entry => add(...entry));
            return;
        }
        const shown = Array.isArray(value) ? value.join(' ') : String(value);
        list.append(element('dt', {}, key.replaceAll('_', ' ')), element('dd', {}, shown));
    };
    Object.entries(PROVENANCE).forEach(entry => add(...entry));
    for (const scene of SHOWN.data.scenes || []) add(scene.path, `scene, digest ${scene.digest}`);
    const save = element('button', {type: 'button', id: 'save'}, 'Save the results as JSON');
    save.addEventListener('click', () => {
        const blob = new Blob([JSON.stringify(SHOWN.data, null, 2)], {type: 'application/json'});
        const name = SHOWN.title.split(' ').at(-1) + '.json';
        const link = element('a', {href: URL.createObjectURL(blob), download: name});
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
    return [list, save];
}

/* The verb and the scenes, the first of many. */
function title() {
    const scenes = [SHOWN.data.scene, ...(SHOWN.data.scenes || [])].filter(Boolean).map(
        scene => scene.path.split('/').at(-1));
    const more = scenes.length > 3 ? ` and ${scenes.length - 3} more` : '';
    return SHOWN.title + (scenes.length ? `: ${scenes.slice(0, 3).join(', ')}${more}` : '');
}

function show() {
    const p = PROVENANCE;
    document.title = title();
    document.querySelector('h1').textContent = title();
    document.getElementById('where').textContent =
        [p.device, p.version && `heapwood ${p.version} (${p.git}), ${p.build_type}`,
         p.cuda && `CUDA ${p.cuda}`, p.date].filter(Boolean).join(' · ');
    const main = document.getElementById('main');
    for (const remark of SHOWN.remarks.filter(one => one.warning)) {
        main.append(element('p', {class: 'warning', role: 'status'}, remark.text));
    }
    // The pattern of bars of allocators that are not full.
    const pattern = {id: 'hatch', width: 6, height: 6, patternUnits: 'userSpaceOnUse',
                     patternTransform: 'rotate(45)'};
    main.append(drawn('svg', {width: 0, height: 0, 'aria-hidden': 'true'},
                      drawn('pattern', pattern, drawn('line', {y2: 6, class: 'hatching'}))));
    main.append(element('p', {class: 'note screen'},
                        'A click on a heading sorts, a second one the other way. ◂: the best.'));
    for (const remark of SHOWN.remarks.filter(one => !one.warning)) {
        main.append(element('p', {class: 'note'}, remark.text));
    }
    for (const table of SHOWN.tables) {
        section(table.title, sortableTable(table), ...plotsOf(table), ...poolsOf(table));
    }
    section('All figures', sortableTable(SHOWN.records));
    section('Provenance', ...provenance());
}

show();
