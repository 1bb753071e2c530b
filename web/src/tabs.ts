// tabs: on a small screen the panels are a sheet with one of them in front; on a large one all are there and tabs are not.
import { el } from "./dom";

export function makeTabs(host: HTMLElement, changed: () => void): void {
    const sheet = document.body, buttons: HTMLButtonElement[] = [];
    const choose = (name: string): void => {
        sheet.dataset.tab = sheet.dataset.tab === name ? "" : name; // once more: away with the sheet
        for (const button of buttons) button.setAttribute("aria-selected", String(button.dataset.tab === sheet.dataset.tab));
        changed();
    };
    for (const panel of document.querySelectorAll<HTMLElement>("[data-panel]")) {
        const name = panel.dataset.panel ?? "", title = panel.dataset.title ?? name;
        if (panel.hidden || buttons.some((button) => button.dataset.tab === name)) continue;
        const button = el("button", { type: "button", data: { tab: name }, onclick: () => choose(name) }, title);
        button.setAttribute("role", "tab");
        if (panel.id) button.setAttribute("aria-controls", panel.id);
        buttons.push(button);
        host.append(button);
    }
    sheet.dataset.tab = "";
    choose(buttons[0]?.dataset.tab ?? "");
}
