// implicit_contacts: contacts in an implicit step. Their number is not known in advance: capacities
// start small and double between steps, as in the other methods.
#include "system/implicit_contacts.h"

enum { ROOM_MIN = 64, WOODBURY_MIN = 24 };

static tn_result take_room(tni_implicit_contacts* t, int capacity)
{
    tni_arena    arena    = tni_arena_make(&t->model->arena.host);
    tni_contact* contacts = TNI_TAKE(&arena, tni_contact, capacity);
    double*      secants  = TNI_TAKE(&arena, double, capacity);
    tni_view*    views    = TNI_TAKE(&arena, tni_view, t->model->body_count);
    if (arena.failed) {
        tni_arena_free(&arena);
        return TN_ERR_MEMORY;
    }
    tni_arena_free(&t->arena);
    t->arena = arena;
    t->room  = (tni_contact_room){.finder   = t->room.finder,
                                  .views    = views,
                                  .contacts = contacts,
                                  .secants  = secants,
                                  .capacity = capacity};
    return TN_OK;
}

tn_result tni_implicit_contacts_create(const tn_model* model, const tn_implicit_settings* settings,
                                       tni_implicit_contacts* t)
{
    *t = (tni_implicit_contacts){.model = model, .arena = tni_arena_make(&model->arena.host)};
    t->possible      = model->shape_count > 1;
    t->law           = tni_contact_law_of(model, settings);
    tn_result result = tni_woodbury_create(model, t->possible ? WOODBURY_MIN : 0, &t->woodbury);
    if (result == TN_OK && t->possible) result = tni_finder_create(model, &t->room.finder);
    if (result == TN_OK && t->possible) result = take_room(t, ROOM_MIN);
    return result;
}

void tni_implicit_contacts_free(tni_implicit_contacts* t)
{
    tni_finder_free(t->room.finder);
    tni_arena_free(&t->arena);
    tni_woodbury_free(&t->woodbury);
}

tn_result tni_implicit_contacts_grow(tni_implicit_contacts* t)
{
    tn_result result;
    if (t->woodbury.full) result = tni_woodbury_grow(&t->woodbury);
    else if (tni_finder_is_full(t->room.finder)) result = tni_finder_grow(t->room.finder);
    else result = take_room(t, 2 * t->room.capacity);
    if (result == TN_OK) t->full = t->woodbury.full = false;
    return result;
}

bool tni_implicit_contacts_soften(tni_implicit_contacts* t, const tni_scene_view* at,
                                  const tni_prediction* predicted, bool again, tni_take_soft* take,
                                  void* user)
{
    t->room.keep = again;
    tni_woodbury_clear(&t->woodbury);
    t->full = t->possible &&
              tni_contact_soften(at, predicted, t->law, &t->room, take, user) > t->room.capacity;
    t->full = t->full || t->woodbury.full;
    return !t->full;
}

double tni_implicit_contacts_penetration(tni_implicit_contacts* t, const tni_view* views,
                                         int* count)
{
    double deepest = 0;
    *count         = 0;
    if (!t->possible) return 0;
    const int found =
        tni_find_contacts(t->room.finder, views, 0, t->room.contacts, t->room.capacity);
    *count = found < TNI_FINDER_FULL ? found : 0;
    for (int i = 0; i < found && i < t->room.capacity; ++i)
        deepest = fmax(deepest, -t->room.contacts[i].gap);
    return deepest;
}
