"""Words of the bundled WebShop catalogue: kinds of product, their attributes, options and brands.

Invariant: data only. Every word that can occur in a title is a noun unless it is in
``MODIFIERS``, so that the nouns of a title are known without a tagger.
"""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Family:
    """Attributes that products of one sort may have.

    Attributes:
        adjectives: what stands before the product ("machine washable shirts").
        features: what follows "with" ("shirts with long sleeve").
        uses: what follows "for" ("shirts for daily wear").
    """

    adjectives: tuple[str, ...]
    features: tuple[str, ...]
    uses: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Kind:
    """One kind of product, as a shop files it.

    Attributes:
        category: one of the five categories of WebShop.
        query: the label under which the shop lists the kind.
        path: shop departments from general to special.
        phrases: noun phrases of titles; every one holds the head noun.
        family: what its attributes are.
        options: names of the option groups that it may offer.
        price: usual range in dollars.
    """

    category: str
    query: str
    path: tuple[str, ...]
    phrases: tuple[str, ...]
    family: str
    options: tuple[str, ...]
    price: tuple[int, int]


def _split(text: str, mark: str = ",") -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(mark) if part.strip())


# family | adjectives | features | uses
_FAMILIES = """
hair | sulfate free, paraben free, cruelty free, long lasting, alcohol free, high quality, easy use | coconut oil, argan oil, tea tree, hyaluronic acid, natural ingredients, seed oil | damaged hair, dry hair, hair growth, hair loss, natural hair
skin | paraben free, fragrance free, cruelty free, oil free, long lasting, dermatologist tested, anti aging, travel size | hyaluronic acid, green tea, coconut oil, natural ingredients, shea butter, vitamin c | sensitive skin, dry skin, dead skin, fine lines, dark circles
oral | fluoride free, alcohol free, clinically proven, easy use, bpa free, travel size, long lasting | tea tree, coconut oil, natural ingredients, soft bristles, fresh mint | fresh breath, sensitive teeth, bad breath, oral hygiene, teeth whitening
makeup | long lasting, cruelty free, highly pigmented, easy apply, easy carry, paraben free, oil free, water resistant | rose gold, natural ingredients, vitamin e, matte finish, hyaluronic acid, seed oil | sensitive skin, eye makeup, daily makeup, fine lines, dark circles
tool | stainless steel, easy clean, double sided, easy carry, high quality, travel size, easy use | carbon steel, storage case, soft bristles, non slip handle, rose gold | nail art, dead skin, hair styling, hair removal, beauty salon
audio | noise cancelling, hands free, easy use, water resistant, high definition, fast charging, long lasting | wireless bluetooth, stereo sound, usb port, quad core, carrying case, heavy bass | home theater, mobile phone, outdoor sports, gym workout, home office
video | high definition, easy install, wall mounted, ultra hd, energy efficient, high speed, plug play | remote control, quad core, dual band, touch screen, aluminum alloy, usb port | home theater, living room, office meetings, video games, outdoor movies
computer | high speed, light weight, fast charging, plug play, easy carry, high performance, energy efficient | intel core, quad core, usb port, aluminum alloy, touch screen, wireless bluetooth | home office, video games, office meetings, school work, daily use
phone | fast charging, easy install, heavy duty, non slip, shock proof, high definition, water resistant | tempered glass, carbon fiber, wireless charging, usb port, kick stand, screen protector | mobile phone, outdoor sports, daily use, car dashboard, video calls
camera | easy carry, light weight, high speed, water resistant, high resolution, easy use, battery powered | carrying case, optical zoom, night vision, aluminum alloy, remote control, motion detection | bird watching, digital photography, home security, video calls, outdoor sports
furniture | easy assemble, assembly required, mid century, space saving, heavy duty, easy clean, eco friendly, fully assembled | solid wood, metal frame, storage space, engineered wood, faux leather, memory foam, tempered glass | living room, dining room, home office, small spaces, guest room
bedding | machine washable, super soft, eco friendly, double sided, easy clean, high density, queen size | memory foam, polyester fabric, cotton fabric, zipper closure, printing technology, faux fur | living room, guest room, dining room, sofa bed, spare bedroom
decor | ready hang, easy install, eco friendly, hand painted, space saving, easy clean, mid century | solid wood, metal frame, tempered glass, printing technology, bronze finish, crystal glass | living room, dining room, home decor, home office, guest room
lighting | energy efficient, easy install, wall mounted, mid century, easy assemble, long lasting, brushed nickel | glass shade, bronze finish, remote control, metal base, touch switch, led bulbs | living room, dining room, home office, reading corner, guest room
shirts | machine washable, hand wash, slim fit, loose fit, moisture wicking, light weight, classic fit, quick drying | long sleeve, short sleeve, polyester spandex, cotton fabric, button closure, needle sleeve, stretch fabric | daily wear, gym workout, office wear, teen girls, summer beach
bottoms | machine washable, hand wash, slim fit, butt lifting, moisture wicking, quick drying, classic fit | elastic waist, high waist, tummy control, drawstring closure, cotton fabric, polyester spandex, side pockets | gym workout, daily wear, running training, office wear, winter hiking
shoes | non slip, light weight, slip resistant, machine washable, water resistant, open toe, anti slip | rubber sole, memory foam, arch support, faux leather, lace closure, steel toe, ankle strap | daily wear, winter hiking, running training, wide feet, summer beach
jewelry | water resistant, light weight, nickel free, hand crafted, gift wrapped, high quality | stainless steel, sterling silver, leather strap, rose gold, quartz movement, gift box | daily wear, office wear, birthday party, teen girls, wedding day
snacks | gluten free, non gmo, individually wrapped, low sugar, nut free, fat free, keto friendly, dairy free | dark chocolate, sea salt, natural flavors, dietary fiber, real fruit, high protein | school lunch, movie night, birthday party, gift basket, quick snack
drinks | caffeine free, non gmo, sugar free, gluten free, dairy free, freeze dried, low calorie, usda organic | natural flavors, natural ingredients, green tea, real fruit, zero sugar, high protein | morning breakfast, iced drinks, daily use, gym workout, gift basket
pantry | gluten free, non gmo, usda organic, plant based, low sodium, shelf stable, ready eat, fully cooked | olive oil, sea salt, natural ingredients, high protein, whole grain, artificial colors | family dinner, school lunch, quick snack, camping trip, healthy cooking
"""

FAMILIES: dict[str, Family] = {
    name: Family(_split(adjectives), _split(features), _split(uses))
    for name, adjectives, features, uses in (_split(line, "|") for line in _FAMILIES.strip().splitlines())
}

# name of an option group, and after "@" which of several value lists it draws from
_OPTIONS = """
color | black, white, red, blue, navy, grey, green, pink, purple, brown, beige, yellow, orange, khaki, burgundy, wine, gold, silver, light blue, dark green, rose red, coffee
color@finish | black, white, brown, grey, walnut, espresso, natural, oak, beige, gold, bronze, silver, dark brown
color@shade | nude, rose, coral, peach, plum, berry, red, pink, mocha, caramel, ivory, honey, black, chestnut
color@device | black, white, silver, blue, red, grey, rose gold, midnight, purple, green
size@clothes | x-small, small, medium, large, x-large, xx-large, 3x-large
size@shoes | 5, 6, 7, 8, 9, 10, 11, 12
size@bed | twin, full, queen, king, california king
size@pillow | 16 x 16 inch, 18 x 18 inch, 20 x 20 inch, 24 x 24 inch
size@picture | 8 x 10 inch, 12 x 16 inch, 16 x 24 inch, 24 x 36 inch
size@bottle | 2 ounce, 4 ounce, 8 ounce, 12 ounce, 16 ounce
size@pack | pack of 1, pack of 2, pack of 4, pack of 6, pack of 12
size@length | 3 feet, 6 feet, 10 feet, 15 feet, 25 feet
size@screen | 11 inch, 13 inch, 15 inch, 24 inch, 32 inch
size@storage | 32 gb, 64 gb, 128 gb, 256 gb, 512 gb
scent | lavender, vanilla, rose, coconut, citrus, unscented, peppermint, jasmine
style | classic, modern, sport, deluxe, basic, premium
fit type | men, women, youth, big boys, girls
flavor name | chocolate, vanilla, strawberry, mango, lemon, caramel, salted, original, spicy, honey, peanut butter, blueberry, coconut
"""

OPTIONS: dict[str, tuple[str, ...]] = {
    name: _split(values) for name, values in (_split(line, "|") for line in _OPTIONS.strip().splitlines())
}

_PATHS = {
    "beauty": "Beauty & Personal Care",
    "electronics": "Electronics",
    "garden": "Home & Kitchen",
    "fashion": "Clothing, Shoes & Jewelry",
    "grocery": "Grocery & Gourmet Food",
}

# category | query | department › section | phrases | family | options | price range
_KINDS = """
beauty | shampoo & conditioner | Hair Care › Shampoo & Conditioner | shampoo, hair shampoo, shampoo bar, shampoo conditioner set | hair | scent, size@bottle | 8-40
beauty | hair masks | Hair Care › Hair Masks | hair mask, repair hair mask, cream hair mask | hair | scent, size@bottle | 9-45
beauty | hair styling products | Hair Care › Styling Products | hair gel, hair spray, hair cream | hair | scent, size@bottle | 7-35
beauty | hair brushes | Hair Care › Brushes | hair brush, paddle hair brush, round hair brush | tool | color@device, style | 6-30
beauty | face creams | Skin Care › Face › Creams | face cream, night face cream, face lotion cream | skin | size@bottle, scent | 12-90
beauty | face masks | Skin Care › Face › Masks | face mask, clay face mask, sheet face mask | skin | size@pack | 6-40
beauty | body care | Skin Care › Body | body lotion, body scrub, body butter, body wash | skin | scent, size@bottle | 8-45
beauty | sunscreens | Skin Care › Sun › Sunscreens | sunscreen, face sunscreen, sunscreen lotion | skin | size@bottle | 9-40
beauty | toothpaste | Oral Care › Toothpaste | toothpaste, whitening toothpaste, charcoal toothpaste | oral | flavor name, size@pack | 5-25
beauty | toothbrushes | Oral Care › Toothbrushes | toothbrush, electric toothbrush, toothbrush set | oral | color@device, size@pack | 6-80
beauty | lips makeup | Makeup › Lips | lip gloss, lip balm, lip liner, lip stain | makeup | color@shade | 6-35
beauty | makeup palettes | Makeup › Palettes | makeup palette, eyeshadow palette, contour palette | makeup | color@shade, style | 9-60
beauty | foundations | Makeup › Face › Foundation | foundation, liquid foundation, powder foundation | makeup | color@shade, size@bottle | 10-60
beauty | mascaras | Makeup › Eyes › Mascara | mascara, volume mascara, lash mascara | makeup | color@shade | 7-35
beauty | nail tools | Foot & Hand Care › Nail Tools | nail clipper, nail file, nail drill, nail lamp | tool | color@device, style | 6-60
beauty | perfumes | Fragrance › Perfumes | perfume, perfume spray, perfume oil | skin | scent, size@bottle | 15-120
electronics | headphones | Audio › Headphones | headphones, gaming headphones, sport headphones | audio | color@device, style | 20-280
electronics | bluetooth speakers | Audio › Speakers | speaker, party speaker, shower speaker, bookshelf speaker | audio | color@device, style | 18-250
electronics | soundbars | Audio › Soundbars | soundbar, tv soundbar, soundbar with subwoofer | audio | color@device, size@screen | 50-300
electronics | microphones | Audio › Microphones | microphone, desktop microphone, podcast microphone | audio | color@device | 20-180
electronics | televisions | Video › Televisions | smart tv, led tv, outdoor tv | video | size@screen, style | 120-300
electronics | projectors | Video › Projectors | projector, mini projector, movie projector | video | color@device, style | 60-300
electronics | streaming media players | Video › Streaming Players | media player, streaming stick player, tv box player | video | size@storage | 25-160
electronics | hdmi cables | Accessories › Cables › Hdmi | hdmi cable, braided hdmi cable, hdmi adapter cable | video | size@length, color@device | 6-40
electronics | laptops | Computers › Laptops | laptop, gaming laptop, business laptop, laptop computer | computer | size@storage, color@device | 180-300
electronics | tablets | Computers › Tablets | tablet, drawing tablet, kids tablet | computer | size@storage, color@device | 60-290
electronics | computer monitors | Computers › Monitors | monitor, gaming monitor, curved monitor | computer | size@screen | 90-300
electronics | keyboards | Computers › Keyboards | keyboard, gaming keyboard, compact keyboard | computer | color@device, style | 15-130
electronics | phone cases | Accessories › Cases | phone case, wallet phone case, clear phone case | phone | color, style | 8-35
electronics | power banks | Accessories › Chargers › Power | power bank, solar power bank, power bank charger | phone | color@device | 15-80
electronics | security cameras | Camera & Photo › Security | security camera, doorbell security camera, dome security camera | camera | color@device, size@pack | 25-220
electronics | binoculars | Camera & Photo › Binoculars | binoculars, compact binoculars, kids binoculars | camera | color, style | 20-200
electronics | digital cameras | Camera & Photo › Digital Cameras | digital camera, mirrorless camera, vlogging camera | camera | color@device, style | 90-300
garden | console tables | Furniture › Living Room › Tables | console table, sofa console table, entryway console table | furniture | color@finish | 60-300
garden | coffee tables | Furniture › Living Room › Coffee | coffee table, round coffee table, lift coffee table | furniture | color@finish, style | 60-300
garden | ottomans | Furniture › Living Room › Ottomans | ottoman, storage ottoman, ottoman bench | furniture | color, style | 35-220
garden | bookcases | Furniture › Office › Bookcases | bookcase, corner bookcase, ladder bookcase | furniture | color@finish | 50-290
garden | office chairs | Furniture › Office › Chairs | office chair, desk chair, swivel chair | furniture | color, style | 70-300
garden | bed frames | Furniture › Bedroom › Beds | bed frame, platform bed frame, canopy bed frame | furniture | size@bed, color@finish | 110-300
garden | mattresses | Furniture › Bedroom › Mattresses | mattress, foam mattress, hybrid mattress | bedding | size@bed | 130-300
garden | decorative pillows | Bedding › Decorative Pillows | pillow cover, throw pillow, pillow cushion | bedding | size@pillow, color | 8-45
garden | throw blankets | Bedding › Throw Blankets | throw blanket, fleece blanket, knit blanket | bedding | color, size@bed | 15-80
garden | bed sheets | Bedding › Sheets | bed sheet set, fitted bed sheet, bed sheet | bedding | size@bed, color | 18-110
garden | wall art | Home Decor › Wall Art | wall art, canvas wall art, wall art print | decor | size@picture, style | 12-140
garden | decorative mirrors | Home Decor › Mirrors | wall mirror, round mirror, vanity mirror | decor | color@finish, style | 25-220
garden | candles | Home Decor › Candles | candle, jar candle, soy candle | decor | scent, color | 8-45
garden | floor lamps | Lighting › Floor Lamps | floor lamp, tripod floor lamp, arc floor lamp | lighting | color@finish | 35-190
garden | table lamps | Lighting › Table Lamps | table lamp, bedside table lamp, desk table lamp | lighting | color@finish, style | 20-120
garden | sconces | Lighting › Sconces | wall sconce, bathroom sconce, candle sconce | lighting | color@finish, size@pack | 25-150
fashion | women's dresses | Women › Clothing › Dresses | women's dress, women's maxi dress, women's wrap dress | shirts | color, size@clothes | 18-90
fashion | women's tops & blouses | Women › Clothing › Tops | women's blouse top, women's tunic top, women's tank top | shirts | color, size@clothes | 12-55
fashion | women's sweaters | Women › Clothing › Sweaters | women's sweater, women's cardigan sweater, women's knit sweater | shirts | color, size@clothes | 20-90
fashion | women's leggings | Women › Clothing › Leggings | women's leggings, women's yoga leggings, women's fleece leggings | bottoms | color, size@clothes | 12-60
fashion | women's jeans | Women › Clothing › Jeans | women's jeans, women's skinny jeans, women's denim jeans | bottoms | color, size@clothes | 25-95
fashion | women's sandals | Women › Shoes › Sandals | women's sandals, women's platform sandals, women's wedge sandals | shoes | color, size@shoes | 18-110
fashion | women's boots | Women › Shoes › Boots | women's boots, women's snow boots, women's chelsea boots | shoes | color, size@shoes | 35-180
fashion | men's t-shirts | Men › Clothing › Shirts | men's shirt, men's graphic shirt, men's henley shirt | shirts | color, size@clothes, fit type | 10-45
fashion | men's dress shirts | Men › Clothing › Dress Shirts | men's dress shirt, men's tuxedo dress shirt, men's plaid dress shirt | shirts | color, size@clothes | 18-80
fashion | men's hoodies | Men › Clothing › Hoodies | men's hoodie, men's pullover hoodie, men's zip hoodie | shirts | color, size@clothes | 20-85
fashion | men's shorts | Men › Clothing › Shorts | men's shorts, men's cargo shorts, men's swim shorts | bottoms | color, size@clothes | 14-60
fashion | men's pants | Men › Clothing › Pants | men's pants, men's jogger pants, men's chino pants | bottoms | color, size@clothes | 20-90
fashion | men's sneakers | Men › Shoes › Sneakers | men's sneakers, men's walking sneakers, men's canvas sneakers | shoes | color, size@shoes | 25-140
fashion | men's loafers | Men › Shoes › Loafers | men's loafers, men's driving loafers, men's penny loafers | shoes | color, size@shoes | 30-150
fashion | watches | Accessories › Watches | watch, dress watch, sport watch | jewelry | color@device, style | 25-280
fashion | earrings | Accessories › Jewelry › Earrings | earrings, hoop earrings, stud earrings | jewelry | color@device | 10-90
grocery | chocolates | Snacks › Candy › Chocolate | chocolate bar, chocolate truffles, chocolate candy | snacks | flavor name, size@pack | 6-45
grocery | cookies | Snacks › Cookies | cookies, butter cookies, sandwich cookies | snacks | flavor name, size@pack | 5-35
grocery | popcorn | Snacks › Popcorn | popcorn, microwave popcorn, kettle popcorn | snacks | flavor name, size@pack | 6-35
grocery | nuts & seeds | Snacks › Nuts & Seeds | mixed nuts, roasted nuts, trail mix nuts | snacks | flavor name, size@bottle | 8-50
grocery | granola bars | Snacks › Bars › Granola | granola bar, oat granola bar, protein granola bar | snacks | flavor name, size@pack | 7-40
grocery | dried fruits | Snacks › Dried Fruits | dried fruit, dried fruit mix, dried fruit slices | snacks | flavor name, size@bottle | 7-40
grocery | coffee | Beverages › Coffee | ground coffee, coffee pods, instant coffee | drinks | flavor name, size@pack | 9-60
grocery | tea | Beverages › Tea | tea bags, loose leaf tea, herbal tea | drinks | flavor name, size@pack | 6-40
grocery | protein drinks | Beverages › Protein Drinks | protein shake, protein drink, protein powder drink | drinks | flavor name, size@pack | 15-80
grocery | juices | Beverages › Juices | juice, fruit juice, vegetable juice | drinks | flavor name, size@bottle | 6-45
grocery | pasta & noodles | Pantry › Pasta & Noodles | pasta noodles, ramen noodles, rice noodles | pantry | size@pack | 6-40
grocery | sauces | Pantry › Sauces | pasta sauce, barbecue sauce, hot sauce | pantry | flavor name, size@bottle | 5-35
grocery | soups | Pantry › Soups | chicken soup, vegetable soup, noodle soup | pantry | size@pack | 6-40
grocery | meat snacks | Meat & Seafood › Meat Snacks | beef jerky, turkey jerky, jerky sticks | pantry | flavor name, size@pack | 8-60
"""


def _kind(line: str) -> Kind:
    category, query, path, phrases, family, options, price = _split(line, "|")
    low, high = price.split("-")
    return Kind(
        category,
        query,
        (_PATHS[category], *_split(path, "›")),
        _split(phrases),
        family,
        _split(options),
        (int(low), int(high)),
    )


KINDS: tuple[Kind, ...] = tuple(_kind(line) for line in _KINDS.strip().splitlines())

BRANDS: dict[str, tuple[str, ...]] = {
    "beauty": _split("Velmora, Auralis, Pureza, Lunique, Brisela, Nuvanta, Ostara, Fiorelle, Zenvia, Mirabeau"),
    "electronics": _split("Voltrix, Sonaro, Kaptic, Nexora, Tekuma, Orvion, Pixelar, Zentrex, Maxtrel, Quantek"),
    "garden": _split("Oakridge, Homelia, Castora, Nordvik, Willowby, Furnesse, Haventa, Larkwood, Cedarly, Domico"),
    "fashion": _split("Vestora, Ellaray, Modaro, Kinsley, Trovano, Urbanex, Solenne, Marwick, Jaxton, Bellovia"),
    "grocery": _split("Harvesta, Nutrova, Goldfield, Tastely, Bramble, Sunmeal, Crispello, Yumora, Rootwell, Savorly"),
}

PACKS = _split("pack of 2, pack of 3, set of 4, gift set, value pack, new edition")

MODIFIERS = frozenset(
    _split(
        """
    aging, anti, apply, artificial, assemble, assembled, bad, based, braided, brushed, cancelling, carry,
    classic, clear, clinically, compact, cooked, crafted, curved, daily, damaged, dark, dead, dietary, digital,
    double, dried, dry, drying, dual, easy, eat, eco, efficient, elastic, electric, engineered, fast, faux,
    fine, fitted, for, free, fresh, friendly, fully, green, ground, hang, healthy, heavy, herbal, high, highly,
    hot, hybrid, iced, individually, install, instant, knit, lasting, lifting, light, liquid, long, loose, low,
    matte, mid, mini, mixed, mobile, mounted, natural, new, non, of, open, optical, oral, organic, outdoor,
    painted, pigmented, powered, proof, proven, quad, quick, ready, real, required, resistant, roasted, round,
    saving, sensitive, short, sided, skinny, slim, small, smart, soft, solid, stable, stainless, sterling,
    super, tempered, tested, ultra, use, washable, whole, wicking, wide, wireless, with, wrapped, zero
    """.replace("\n", " ")
    )
)
