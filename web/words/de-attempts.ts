// German: the strings of attempts, of previews of files, and of the questions before a generation is cancelled or deleted.
import type { enAttempts } from "./en-attempts.ts";

export const deAttempts: typeof enAttempts = {
  attemptTable: {
    label: "Versuche",
    route: (n) => `Route ${n}`,
    drawing: (span, attempts) => `Versuche in ${span}. ${attempts}. Die Tabelle darunter hat die Zeiten.`,
    none: "Noch kein Versuch.",
    after: (time) => `nach ${time}`,
    job: (id) => `Auftrag ${id}`,
    columns: { route: "Route", outcome: "Ausgang", began: "Beginn", sent: "Gesendet", took: "Dauer", price: "Preis" },
  },
  preview: {
    name: (title, n) => `${title}, Datei ${n}`,
    unreachable: "Der Dienst ist nicht erreichbar; laden Sie die Seite gleich neu.",
    status: (status) => `Der Dienst antwortete mit Status ${status}; laden Sie die Seite gleich neu.`,
  },
  cancelling: {
    open: "Abbrechen",
    title: "Diese Generierung abbrechen?",
    does: "Generierung abbrechen",
    leaves: "Weiterlaufen lassen",
    about:
      "Keine weitere Route wird versucht. Wenn ein Anbieter schon begonnen hat, kann er noch liefern, und das Ergebnis wird berechnet.",
  },
  deleting: {
    open: "Löschen",
    title: "Diese Generierung löschen?",
    does: "Generierung löschen",
    leaves: "Behalten",
    erased: "Prompt, Eingabe, Metadaten, Endnutzer und Dateien werden gelöscht und lassen sich nicht wiederherstellen.",
    stays: "Status, Kosten und Buchungen bleiben. Hochgeladene Dateien, die sie benutzt hat, werden nicht gelöscht.",
    done: "Die Generierung ist gelöscht",
    backups: "Frühere Sicherungen können ihren Prompt und ihre Dateien noch enthalten:",
    untilDeleted: "bis ein Betreiber sie löscht",
    until: (day) => `bis ${day}`,
    close: "Schließen",
  },
};
